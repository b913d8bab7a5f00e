// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A fault of the emulator's, and what has to become of a look-up in spite of it.
struct FaultCase: Sendable, CustomTestStringConvertible {
    /// As in `--fault`.
    let fault: String

    /// Who has the last word.
    enum Word: Sendable {
        /// The faulty server: what it says is no failure, or not by the vendor's grammar.
        case server

        /// The vendor's next server; the upstream, if there is none.
        case nextServer

        /// The upstream, at once: what the server says means that the vendor knows no address.
        case upstream
    }

    var word = Word.nextServer

    /// The channels it is tried on: TLS with HTTP/2, where nginx passes it on in its own way, and
    /// plain HTTP/1.1 unless it concerns the vendor's own encryption, of which there are two.
    var channels: [VendorText.Channel] = [.https, .aes]

    /// Whether only the passing of time shows it; what does not need short times has long ones, so
    /// that a busy machine makes no difference.
    var isSilence: Bool { fault == "silent" || fault == "delay=3000" }

    var testDescription: String { fault }

    /// The word before its value, as the emulator's manual lists it.
    var kind: String { String(fault.prefix { $0 != "=" && $0 != "," }) }

    /// All of them.
    static let all: [FaultCase] = [
        FaultCase(fault: "delay=50", word: .server),
        FaultCase(fault: "delay=3000"),
        FaultCase(fault: "silent"),
        FaultCase(fault: "close"),
        FaultCase(fault: "reset"),
        FaultCase(fault: "truncated"),
        FaultCase(fault: "truncated=1"),
        FaultCase(fault: "noise"),
        FaultCase(fault: "garbage"),
        FaultCase(fault: "empty", word: .upstream),
        FaultCase(fault: "huge=65537"),
        FaultCase(fault: "huge=8000000"),
        FaultCase(fault: "gzip"),
        FaultCase(fault: "status=204"),
        FaultCase(fault: "status=401"),
        FaultCase(fault: "status=404"),
        FaultCase(fault: "status=429"),
        FaultCase(fault: "status=500"),
        FaultCase(fault: "status=503"),
        FaultCase(fault: "error=502"),
        FaultCase(fault: "redirect=http://127.0.0.1:9/d"),
        FaultCase(fault: "redirect=https://127.0.0.1:9/d"),
        FaultCase(fault: "wrong-name"),
        FaultCase(fault: "zero-address", word: .upstream),
        FaultCase(fault: "ttl=0", word: .server),
        FaultCase(fault: "ttl=nonsense"),
        FaultCase(fault: "wrong-key", channels: [.aes, .des]),
        FaultCase(fault: "bad-padding", channels: [.aes, .des]),
    ]

    /// Every case on every channel it can happen on.
    static let onChannels = all.flatMap { fault in fault.channels.map { (fault, $0) } }
}

@Suite(
    "Whatever a server does, the client gets an answer",
    .needs(.dig, .nsd, .nginx, .openssl, .curl),
    .hangLimit
)
struct FaultTests {
    private static let vendors = ["192.0.2.1", "192.0.2.2"]
    private static let upstreams = ["198.51.100.99"]

    /// Asks, and waits as long as stub resolvers do (resolv.conf(5)).
    private static func ask(_ daemon: TestDaemon) throws -> Dig {
        try daemon.dig("www.example.com", "A", "+time=5")
    }

    @Test("the upstream's, where the vendor has one server", arguments: FaultCase.onChannels)
    func alone(_ fault: FaultCase, _ channel: VendorText.Channel) throws {
        let stack = try Stack(
            channel,
            faults: [fault.fault],
            vendor: fault.isSilence ? "timeout: 500ms" : ""
        )
        let reply = try Self.ask(stack.daemon)
        let isServers = fault.word == .server
        #expect(reply.data("A") == (isServers ? Self.vendors : Self.upstreams), "\(reply.text)")
        let stats = try stack.daemon.stats()
        #expect(stats["queries", "by-source", isServers ? "vendor" : "upstream"].int == 1)
        let failures = try #require(stats["vendors"].array.first)["failures"]
        #expect((failures.sum > 0) == (fault.word == .nextServer), "\(failures.value ?? "")")
        try stack.daemon.stop()
    }

    @Test("the next server's, where the vendor has two", arguments: FaultCase.onChannels)
    func second(_ fault: FaultCase, _ channel: VendorText.Channel) throws {
        let stack = try Stack(
            channel,
            firstFaults: [fault.fault],
            vendor: fault.isSilence ? "hedge-after: 100ms" : "hedge-after: 5s"
        )
        let reply = try Self.ask(stack.daemon)
        let isUpstreams = fault.word == .upstream || fault.fault == "status=401"
        #expect(reply.data("A") == (isUpstreams ? Self.upstreams : Self.vendors), "\(reply.text)")
        #expect(try stack.emulator.lookups() == (fault.word == .nextServer && !isUpstreams ? 1 : 0))
        try stack.daemon.stop()
    }

    @Test("no fault of the emulator's manual is missing here")
    func complete() throws {
        let manual = try run(Product.emulator, ["--help"]).output
        let part = try #require(manual.components(separatedBy: "FAULTS\n").last)
        let list = try #require(part.components(separatedBy: "All conditions must hold").first)
        let kinds = list.split(separator: "\n").filter { $0.hasPrefix("  ") }
            .compactMap { line in
                line.split(separator: " ").first.map {
                    String($0.prefix { $0 != "=" && $0 != "[" })
                }
            }
        #expect(kinds.count > 10)
        #expect(Set(kinds) == Set(FaultCase.all.map(\.kind)))
    }
}
