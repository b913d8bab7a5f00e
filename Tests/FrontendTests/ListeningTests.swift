// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing

@testable import Frontend

@Suite("Validation of queries (RFC 8906, RFC 6891 §6.1.3)")
struct QueryValidationTests {
    private enum Decision: Equatable {
        case ignored, query, unusual
        case answered(RCode, QuerySource, QueryOutcome)
    }

    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let octets: [UInt8]
        let allowed: Decision

        let forbidden: Decision

        init(
            _ label: String,
            _ allowed: Decision,
            _ forbidden: Decision,
            _ change: (inout Message) -> Void = { _ in }
        ) {
            testDescription = label
            self.allowed = allowed
            self.forbidden = forbidden
            octets = (try? query("www.example.com", change)) ?? []
        }

        init(_ label: String, _ decision: Decision, octets: [UInt8]) {
            testDescription = label
            allowed = decision
            forbidden = decision
            self.octets = octets
        }
    }

    private static let refused = Decision.answered(.refused, .refused, .refused)
    private static let formErr = Decision.answered(.formErr, .invalid, .formErr)
    private static let notImp = Decision.answered(.notImp, .invalid, .notImp)

    private static let cases: [Case] = [
        Case("a query", .query, refused),
        Case("a query with EDNS", .query, refused) { $0.edns = EDNS() },
        Case("another class", refused, refused) { $0.questions[0].recordClass = .ch },
        Case("any class", refused, refused) { $0.questions[0].recordClass = .any },
        Case("another version of EDNS", .answered(.badVers, .invalid, .badVers), refused) {
            $0.edns = EDNS()
            $0.edns?.version = 1
        },
        Case("a reply", .ignored, .ignored) { $0.header.isResponse = true },
        Case("another opcode", notImp, notImp) { $0.header.opcode = 2 },
        Case("no question", formErr, formErr) { $0.questions = [] },
        Case("two questions", formErr, formErr) { $0.questions += $0.questions },
        Case("unexpected records", .unusual, formErr) { message in
            message.answers = [
                Record(name: .root, ttl: 1, data: .a(IPv4Address(value: 1)))
            ]
        },
        Case("nothing", .ignored, octets: []),
        Case("fewer octets than a header", .ignored, octets: [UInt8](repeating: 0, count: 11)),
        Case("a header of zeros", formErr, octets: [UInt8](repeating: 0, count: 12)),
    ]

    @Test(arguments: cases, [true, false])
    private func `each kind of message is accepted, answered with an error, or ignored`(
        _ example: Case,
        _ isAllowed: Bool
    ) throws {
        var buffer = example.octets + [UInt8](repeating: 0xEE, count: 512)
        let count = example.octets.count
        let look = buffer.withMutableRawSpan { span in
            QueryValidation(
                at: &span,
                count: count,
                from: ClientContext(
                    transport: .udp,
                    address: .v4(IPv4Address(value: 0xC000_0207)),
                    isAllowed: isAllowed
                )
            )
        }
        let decision: Decision
        switch look {
        case .ignored: decision = .ignored
        case .query: decision = .query
        case .unusual: decision = .unusual
        case .answered(let length, let source, let outcome):
            let message = try Message(parsing: Array(buffer[..<length]))
            #expect(message.header.isResponse)
            #expect(Array(buffer[..<2]) == Array(example.octets[..<2]))
            decision = .answered(message.rcode, source, outcome)
        }
        #expect(decision == (isAllowed ? example.allowed : example.forbidden))
    }
}

@Suite("Access by client address")
struct ListeningAccessTests {
    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.255.255", true), ("128.0.0.1", false), ("126.0.0.1", false),
        ("192.0.2.17", true), ("192.0.2.32", false), ("192.0.2.15", false), ("::1", true),
        ("::2", false), ("2001:db8::ffff", true), ("2001:db9::1", false), ("::", false),
    ])
    func `an address is allowed if a block contains it`(_ text: String, _ isAllowed: Bool) throws {
        let list = AccessList(
            try ["127.0.0.0/8", "192.0.2.16/28", "::1/128", "2001:db8::/32"].map {
                try #require(IPPrefix($0))
            }
        )
        let address = try #require(IPAddress(text))
        let octets = address.octets
        let asTheKernelWritesIt = IPAddress(octets.rawSpan)
        #expect(asTheKernelWritesIt == address)
        #expect(list.allows(address) == isAllowed)
        #expect(!AccessList([]).allows(address))
    }

    @Test
    func `addresses in nested, in adjacent and in many blocks are allowed`() throws {
        let blocks = ["10.1.2.0/24", "10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/9", "11.128.0.0/9"]
        let many = (0..<10_000).map { "172.\($0 / 256).\($0 % 256).64/26" }
        let list = AccessList(try (blocks + many).map { try #require(IPPrefix($0)) })
        let allowed = [
            "10.0.0.0", "10.1.2.3", "10.255.255.255", "11.127.255.255", "11.128.0.0",
            "172.0.0.64", "172.20.7.127", "172.39.15.100", "::ffff:10.1.2.3",
        ]
        let denied = [
            "9.255.255.255", "12.0.0.0", "172.0.0.63", "172.20.7.128", "172.39.16.64", "0.0.0.0",
            "255.255.255.255", "::", "::a00:1",
        ]
        for text in allowed { #expect(list.allows(try #require(IPAddress(text))), "\(text)") }
        for text in denied { #expect(!list.allows(try #require(IPAddress(text))), "\(text)") }
    }

    @Test
    func `a block of length 0 contains all addresses of a family`() throws {
        let list = AccessList([try #require(IPPrefix("0.0.0.0/0"))])
        #expect(list.allows(.v4(IPv4Address(value: 0xCB00_7109))))
        #expect(!list.allows(.v6(IPv6Address(high: 0, low: 0))))
    }
}

@Suite("The UDP and TCP sockets of a listen address", .timeLimit(.minutes(15)))
struct ListenersTests {
    @Test(arguments: [1, 3])
    @ServiceLoop
    func `an automatic port is the same for UDP and TCP`(_ workers: Int) throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let listeners = try Listeners(binding: any, workers: workers)
        #expect(listeners.address.port != 0)
        #expect(listeners.stream.localAddress == listeners.address)
        #expect(
            listeners.datagrams.map(\.address)
                == .init(repeating: listeners.address, count: workers)
        )
    }

    @Test
    @ServiceLoop
    func `a closed socket frees its address, and drops later replies`() async throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let closed = try DatagramListener(binding: any, shared: false)
        let client = try DatagramClient(connectedTo: closed.address)
        try client.send([1, 2, 3])
        var batch = DatagramBatch(for: closed)
        // The service loop sends the query of the client only at the end of the iteration.
        while batch.receive(from: closed, waits: false) == 0 { await Task.yield() }
        closed.close()
        let next = try DatagramListener(binding: closed.address, shared: false)
        closed.reply([4, 5, 6], to: batch.copy(0))
        #expect(next.address == closed.address)
    }

    @Test(arguments: [1, 2])
    @ServiceLoop
    func `binding an address in use fails, and the error says this`(_ workers: Int) throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let first = try Listeners(binding: any, workers: workers)
        let error = #expect(throws: SocketError.self) {
            try Listeners(binding: first.address, workers: workers)
        }
        #expect(error?.isAddressInUse == true)
    }
}
