// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

typealias Begun = TestOperation<Result<VendorReply, VendorFailure>>

extension Simulation {
    var asked: [Sent] { sent.filter { namesAsked($0.request) != ["www.dnspod.cn"] } }

    var hosts: String { asked.map { String($0.request.server.host.suffix(1)) }.joined() }

    var trials: [Int] {
        sent.map(\.request).filter { namesAsked($0) == ["www.dnspod.cn"] }.map(digit)
    }

    var times: [Int] { asked.map { $0.at.milliseconds } }

    func begin(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        of network: ClientNetwork? = nil,
        families: Families = .both,
        route: String = "",
        mayFallBack: Bool = false,
        within time: Duration = .seconds(3)
    ) throws -> Begun {
        let name = try Name(name)
        let deadline = now + time
        return begin {
            await withCheckedContinuation { continuation in
                client.lookUp(
                    name,
                    families,
                    route: route,
                    mayFallBack: mayFallBack,
                    deadline: deadline,
                    cancellation: network.map { CancellationSignal(client: $0) },
                    Completion { continuation.resume(returning: $0) }
                )
            }
        }
    }

    func lookUp(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        of network: ClientNetwork? = nil,
        families: Families = .both,
        within time: Duration = .seconds(3)
    ) async throws -> VendorReply {
        try await value(of: begin(client, name, of: network, families: families, within: time))
            .get()
    }

    func failure(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        of network: ClientNetwork? = nil,
        within time: Duration = .seconds(3)
    ) async throws -> VendorFailure {
        switch try await value(of: begin(client, name, of: network, within: time)) {
        case .success(let reply): throw Unexpected(what: "answered \(reply)")
        case .failure(let failure): return failure
        }
    }
}

struct Unexpected: Error {
    let what: String
}
