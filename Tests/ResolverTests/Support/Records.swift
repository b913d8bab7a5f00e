// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import Synchronization
import Testing
import Upstream

@testable import Resolver

/// Names as literals, which only tests write in source.
extension Name: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            fatalError("\(text): \(error)")
        }
    }
}

/// Holds up whoever comes until it is opened.
@ServiceLoop
final class Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watching: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Waits until the gate is open.
    func pass() async {
        guard !isOpen else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            for (count, watcher) in watching where count == waiting.count { watcher.resume() }
        }
    }

    /// Waits until so many stand before it.
    func crowd(of count: Int) async {
        guard waiting.count < count else { return }
        await withCheckedContinuation { watching.append((count, $0)) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}

/// A vendor's servers: one script for all, given the name and the server.
final class ScriptedTransport: HTTPTransport {
    enum Step: Sendable {
        case reply(String)
        case status(Int)
        case fail(HTTPError)

        /// Waits until its deadline, and then has timed out.
        case silence
    }

    /// A request: the name asked for, the server, and until when it may take.
    struct Sent: Sendable {
        let name: String
        let server: String
        let deadline: ContinuousClock.Instant
    }

    private let script: @Sendable (_ name: String, _ server: String) -> Step
    private let gate: Gate?
    private let log = Mutex<[Sent]>([])

    init(gate: Gate? = nil, _ script: @escaping @Sendable (String, String) -> Step) {
        self.script = script
        self.gate = gate
    }

    var sent: [Sent] { log.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> HTTPReply {
        let query = request.url.split(separator: "dn=").last ?? ""
        let name = String(query.split(separator: "&").first ?? "")
        let server = request.server.host
        log.withLock { $0.append(Sent(name: name, server: server, deadline: deadline)) }
        await gate?.pass()
        switch script(name, server) {
        case .reply(let body): return HTTPReply(status: 200, body: Array(body.utf8))
        case .status(let status): return HTTPReply(status: status, body: [])
        case .fail(let error): throw error
        case .silence:
            // Ends early only when cancelled, which is no reply either.
            try? await ServiceLoop.sleep(until: deadline)
            throw .timedOut(reused: false)
        }
    }
}

/// An upstream that does as it is told, in no time.
final class ScriptedUpstream: Forwarding {
    let name: String
    let url = "scripted"
    let isProtected = false
    let latency = LatencyHistogram()
    let timeout: Duration = .seconds(2)
    let numbers = UpstreamNumbers()

    private(set) var asked: [ForwardedQuery] = []
    private(set) var deadlines: [ContinuousClock.Instant] = []
    private let gate: Gate?
    private let script: @Sendable (inout Message) throws(UpstreamError) -> Void

    /// `script` makes the reply of an empty one.
    init(
        _ name: String = "upstream",
        gate: Gate? = nil,
        _ script: @escaping @Sendable (inout Message) throws(UpstreamError) -> Void
    ) {
        self.name = name
        self.gate = gate
        self.script = script
    }

    func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        asked.append(query)
        deadlines.append(deadline)
        await gate?.pass()
        var header = Header()
        header.isResponse = true
        var message = Message(header: header)
        message.questions = [query.question]
        try script(&message)
        return message
    }
}

extension ScriptedUpstream {
    /// One that has 192.0.2.99 or 2001:db8::99 for every name.
    convenience init(_ name: String = "upstream", address: UInt32 = 0xC000_0263) {
        self.init(name) { (message) throws(UpstreamError) in
            guard let question = message.questions.first else { return }
            switch question.type {
            case .a: message.answers = [.a(question.name, address)]
            case .aaaa: message.answers = [.aaaa(question.name, UInt64(address))]
            default: break
            }
        }
    }
}

extension Record {
    static func a(_ name: Name, _ value: UInt32, ttl: UInt32 = 300) -> Record {
        Record(name: name, ttl: ttl, data: .a(IPv4Address(value: value)))
    }

    static func aaaa(_ name: Name, _ low: UInt64, ttl: UInt32 = 300) -> Record {
        let address = IPv6Address(high: 0x2001_0DB8_0000_0000, low: low)
        return Record(name: name, ttl: ttl, data: .aaaa(address))
    }

    static func cname(_ name: Name, _ target: Name, ttl: UInt32 = 300) -> Record {
        Record(name: name, ttl: ttl, data: .cname(target))
    }

    static func soa(_ name: Name, minimum: UInt32 = 60, ttl: UInt32 = 3_600) -> Record {
        Record(
            name: name,
            ttl: ttl,
            data: .soa(
                SOA(
                    primary: "ns.example.com",
                    mailbox: "hostmaster.example.com",
                    serial: 1,
                    refresh: 2,
                    retry: 3,
                    expire: 4,
                    minimum: minimum
                )
            )
        )
    }

    static func other(_ name: Name, _ type: RecordType, _ octets: [UInt8] = [1], ttl: UInt32 = 300)
        -> Record
    {
        Record(name: name, type: type, ttl: ttl, data: .opaque(octets))
    }
}

/// A resolution, and what a client would read.
struct Answer {
    let resolution: Resolution
    let message: Message

    var rcode: RCode { message.rcode }

    /// Type, then address or name, of each answer.
    var answers: [String] { message.answers.map { "\($0.type) \($0.data)" } }

    var zone: Name? { message.authorities.first { $0.type == .soa }?.name }

    init(_ resolution: Resolution, to question: Question) throws {
        self.resolution = resolution
        let sections = resolution.sections
        var octets: [UInt8] = [0, 0, 0x80, UInt8(resolution.rcode.rawValue), 0, 1]
        for count in [sections.answerCount, sections.authorityCount, sections.additionalCount] {
            octets += [UInt8(count >> 8), UInt8(count & 0xFF)]
        }
        octets += question.name.octets
        for number in [question.type.rawValue, question.recordClass.rawValue] {
            octets += [UInt8(number >> 8), UInt8(number & 0xFF)]
        }
        message = try Message(parsing: octets + sections.octets)
    }
}

/// A resolver with scripted vendors and upstreams.
@ServiceLoop
final class House {
    let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
    let transport: ScriptedTransport
    let upstream: ScriptedUpstream?
    let resolver: Resolver
    let vendors: [VendorClient]

    /// Makes one whose routes are made by `route`.
    init(
        transport: ScriptedTransport = ScriptedTransport { _, _ in .fail(.cancelled) },
        upstream: ScriptedUpstream? = ScriptedUpstream(),
        policy: TTLPolicy = TTLPolicy(),
        _ route: (inout RouteTable, [VendorClient]) -> Void = { _, _ in }
    ) throws {
        self.transport = transport
        self.upstream = upstream
        vendors = try (1...3).map { try Self.vendor($0, transport) }
        var routes = RouteTable()
        route(&routes, vendors)
        resolver = Resolver(
            routes: routes,
            standard: upstream.map { UpstreamGroup([$0]) },
            policy: policy,
            cache: cache
        )
    }

    /// One whose vendor has all of `example.com`.
    convenience init(
        vendor transport: ScriptedTransport,
        upstream: ScriptedUpstream? = ScriptedUpstream(),
        policy: TTLPolicy = TTLPolicy(),
        vendors count: Int = 1,
        fallsBack: Bool = true,
        allowsPrivateAnswers: Bool = false
    ) throws {
        try self.init(transport: transport, upstream: upstream, policy: policy) { routes, vendors in
            routes.add(
                Route(
                    place: "test:1",
                    vendors: Array(vendors.prefix(count)),
                    upstreams: nil,
                    fallsBack: fallsBack,
                    allowsPrivateAnswers: allowsPrivateAnswers
                ),
                for: [.suffix("example.com")],
                except: []
            )
        }
    }

    /// The vendor `v1` is at 192.0.2.1, and so on.
    private static func vendor(
        _ number: Int,
        _ transport: ScriptedTransport
    ) throws -> VendorClient {
        VendorClient(
            name: "v\(number)",
            vendor: try Tencent(token: Secret("987654321"), id: 12345),
            servers: [try #require(SocketAddress("192.0.2.\(number):443"))],
            settings: VendorClient.Settings(),
            transport: transport,
            clocks: Clocks(now: { Clock.now }, wallSeconds: { 1_700_000_000 })
        )
    }

    func ask(
        _ name: Name,
        _ type: RecordType = .a,
        dnssecOK: Bool = false,
        checkingDisabled: Bool = false,
        within time: Duration = .seconds(20)
    ) async throws -> Answer {
        let question = Question(name: name, type: type)
        let query = Query(
            question: question,
            dnssecOK: dnssecOK,
            checkingDisabled: checkingDisabled
        )
        return try Answer(
            await resolver.resolve(query, deadline: Clock.now + time),
            to: question
        )
    }

    /// What the cache has of a name, as `A 2` for an A entry of two answers.
    func cached(_ name: Name) -> [String] {
        cache.entries(named: name, type: nil, now: Clock.now).map { entry in
            let message = try? Message(parsing: entry.message)
            return "\(entry.type) \(message?.answers.count ?? -1)"
        }
    }

    func origin(_ answer: Answer) -> String {
        resolver.origins.name(answer.resolution.provenance.origin)
    }
}
