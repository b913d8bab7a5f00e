// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct FaultCase: Sendable, CustomTestStringConvertible {
    let fault: String

    enum Word: Sendable {
        case server

        /// The vendor's next server answers; without a next server, the upstream answers.
        case nextServer

        /// The upstream answers. The daemon queries no further vendor server, because the fault is
        /// a valid reply without a usable address.
        case upstream
    }

    var word = Word.nextServer

    /// Channels that the test uses: HTTPS with HTTP/2 through nginx, and HTTP/1.1 with AES.
    var channels: [VendorText.Channel] = [.https, .aes]

    /// True if the daemon detects the fault only by a timeout.
    var isSilence: Bool { fault == "silent" || fault == "delay=3000" }

    var testDescription: String { fault }

    var kind: String { String(fault.prefix { $0 != "=" && $0 != "," }) }

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

    static let onChannels = all.flatMap { fault in fault.channels.map { (fault, $0) } }
}

@Suite(
    "Vendor faults do not prevent an answer",
    .needs(.dig, .nsd, .nginx, .openssl, .curl),
    .hangLimit
)
struct FaultTests {
    private static let vendors = ["192.0.2.1", "192.0.2.2"]
    private static let upstreams = ["198.51.100.99"]

    private static func ask(_ daemon: TestDaemon) throws -> Dig {
        try daemon.dig("www.example.com", "A", "+time=5")
    }

    @Test(
        "if the only server of a vendor has a fault, the upstream answers",
        arguments: FaultCase.onChannels
    )
    func alone(_ fault: FaultCase, _ channel: VendorText.Channel) throws {
        let harness = try ProgramHarness(
            channel,
            faults: [fault.fault],
            route: "fallback-after: off",
            vendor: fault.isSilence ? "timeout: 500ms" : ""
        )
        let reply = try Self.ask(harness.daemon)
        let isServers = fault.word == .server
        #expect(reply.data("A") == (isServers ? Self.vendors : Self.upstreams), "\(reply.text)")
        let stats = try harness.daemon.stats()
        #expect(stats["queries", "by-source", isServers ? "vendor" : "upstream"].int == 1)
        let vendor = try #require(stats["vendors"].array.first)
        let failures = vendor["failures"]
        #expect(vendor["failed"].int == failures.sum)
        #expect(vendor["failures-by-kind"].sum == failures.sum)
        #expect((failures.sum > 0) == (fault.word == .nextServer), "\(failures.value ?? "")")
        try harness.daemon.stop()
    }

    @Test(
        "if the first of two vendor servers has a fault, the second server answers",
        arguments: FaultCase.onChannels
    )
    func second(_ fault: FaultCase, _ channel: VendorText.Channel) throws {
        let harness = try ProgramHarness(
            channel,
            firstFaults: [fault.fault],
            vendor: fault.isSilence ? "hedge-after: 100ms" : "hedge-after: 5s"
        )
        let reply = try Self.ask(harness.daemon)
        let isUpstreams = fault.word == .upstream
        #expect(reply.data("A") == (isUpstreams ? Self.upstreams : Self.vendors), "\(reply.text)")
        let lookups = fault.word == .nextServer ? 1 : 0
        #expect(try harness.emulator.lookups() == lookups)
        try harness.daemon.stop()
    }

    @Test("the tests cover every fault that the emulator's help lists")
    func complete() throws {
        let manual = try run(Product.emulator, ["--help"]).output
        let part = try #require(manual.components(separatedBy: "FAULTS\n").last)
        let list = try #require(part.components(separatedBy: "A fault applies").first)
        let kinds = list.split(separator: "\n")
            .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { line in
                line.split(separator: " ").first.map {
                    String($0.prefix { $0 != "=" && $0 != "[" })
                }
            }
        #expect(kinds.count > 10)
        #expect(Set(kinds) == Set(FaultCase.all.map(\.kind)))
    }
}
