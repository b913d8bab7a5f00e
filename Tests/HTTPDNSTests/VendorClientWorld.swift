// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

/// A look-up that was begun.
typealias Begun = Errand<Result<VendorReply, VendorFailure>>

extension World {
    /// What was sent for clients: all but the daemon's own question.
    var asked: [Sent] { sent.filter { namesAsked($0.request) != ["www.dnspod.cn"] } }

    /// The last digits of the servers that were asked for clients, in order.
    var hosts: String { asked.map { String($0.request.server.host.suffix(1)) }.joined() }

    /// The last digits of the servers that were asked the daemon's own question, in order.
    var trials: [Int] {
        sent.map(\.request).filter { namesAsked($0) == ["www.dnspod.cn"] }.map(digit)
    }

    /// When each request of a client was sent, in milliseconds.
    var times: [Int] { asked.map { $0.at.milliseconds } }

    /// Begins a look-up.
    func begin(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        families: Families = .both,
        route: String = "",
        within time: Duration = .seconds(3)
    ) throws -> Begun {
        let name = try Name(name)
        let deadline = now + time
        return begin {
            do throws(VendorFailure) {
                return .success(
                    try await client.lookUp(
                        name,
                        families: families,
                        route: route,
                        deadline: deadline
                    )
                )
            } catch {
                return .failure(error)
            }
        }
    }

    /// Looks up a name.
    func lookUp(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        families: Families = .both,
        within time: Duration = .seconds(3)
    ) async throws -> VendorReply {
        try await value(of: begin(client, name, families: families, within: time)).get()
    }

    /// The failure of a look-up that must fail.
    func failure(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        within time: Duration = .seconds(3)
    ) async throws -> VendorFailure {
        switch try await value(of: begin(client, name, within: time)) {
        case .success(let reply): throw Unexpected(what: "answered \(reply)")
        case .failure(let failure): return failure
        }
    }
}

/// What must not have happened.
struct Unexpected: Error {
    let what: String
}
