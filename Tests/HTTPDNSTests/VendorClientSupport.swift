// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

func good(_ request: HTTPRequest) -> HTTPReply {
    let names = namesAsked(request)
    return ok(names.map { "\($0).:192.0.2.10,60-2001:db8::10,120" }.joined(separator: "\n"))
}

func namesAsked(_ request: HTTPRequest) -> [String] {
    let query = request.url.split(separator: "?").last ?? ""
    let value = query.split(separator: "&").first { $0.hasPrefix("dn=") }?.dropFirst(3) ?? ""
    return value.split(separator: ",").map(String.init)
}

func network(_ number: UInt32) -> ClientNetwork {
    ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + number)), isProven: true)
}

/// Client with an address that may be forged.
func unproven(_ number: Int) -> ClientNetwork {
    ClientNetwork(of: .v4(IPv4Address(value: 0xC633_6400 + UInt32(number))), isProven: false)
}

func digit(_ request: HTTPRequest) -> Int { Int(request.server.host.suffix(1)) ?? 0 }

extension Simulation {
    func client(
        servers count: Int = 2,
        vendor: (any Vendor)? = nil,
        source: VendorClient.AddressSource? = nil,
        usage: any UsageStore = UsageMemory(),
        configure: (inout VendorClient.Settings) -> Void = { _ in }
    ) throws -> VendorClient {
        var settings = VendorClient.Settings()
        settings.batching = .waiting
        configure(&settings)
        return VendorClient(
            name: "tencent",
            vendor: try vendor ?? plainTencent(),
            servers: try (1...count).map { try server("192.0.2.\($0):443") },
            settings: settings,
            transport: self,
            clocks: clocks,
            source: source,
            usage: usage
        )
    }

    func servers(_ steps: [Int: Step]) {
        script = { steps[digit($0)] ?? .reply(good($0)) }
    }
}

struct ClockedVendor: Vendor {
    let plain: Tencent
    let facts: VendorFacts

    init(usesTLS: Bool = true, maximumNames: Int? = nil) throws {
        plain = try plainTencent()
        var facts = plain.facts
        (facts.usesTLS, facts.isProtected) = (usesTLS, usesTLS)
        facts.maximumNames = maximumNames ?? facts.maximumNames
        self.facts = facts
    }

    func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        var request = try plain.request(
            for: lookup,
            at: server,
            now: wallSeconds,
            entropy: entropy
        )
        request.headers = ["\(wallSeconds)"]
        return request
    }

    func answers(to lookup: VendorQuery, in reply: HTTPReply) throws(VendorError) -> [VendorAnswer]
    {
        try plain.answers(to: lookup, in: reply)
    }
}
