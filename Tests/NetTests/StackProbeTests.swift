// SPDX-License-Identifier: Apache-2.0
import Locks
import Testing

@testable import Net

@Suite("Address families that work")
struct StackProbeTests {
    private static let v4 = ["192.0.2.1:443", "192.0.2.2:443", "192.0.2.3:443"]
    private static let v6 = ["[2001:db8::1]:443", "[2001:db8::2]:443"]

    private static func result(
        _ routes: NetworkStack,
        _ servers: [String],
        reaching reachable: Set<String>
    ) async -> (stack: NetworkStack, tried: Set<String>) {
        let tried = Lock<Set<String>>([])
        let probe = await StackProbe(routes: { routes }) { server, _ in
            tried.withLock { _ = $0.insert("\(server)") }
            return reachable.contains("\(server)")
        }
        let stack = await probe.test(servers.compactMap { SocketAddress($0) })
        return (stack, tried.withLock { $0 })
    }

    @Test(
        "the probe connects to servers only if both families have a route",
        arguments: [NetworkStack.none, .v4, .v6]
    )
    func oneRoute(_ routes: NetworkStack) async {
        let (stack, tried) = await Self.result(routes, Self.v4 + Self.v6, reaching: [])
        #expect(stack == routes)
        #expect(tried.isEmpty)
    }

    @Test(
        "an address family works if one of its first two servers can be reached",
        arguments: [
            ([v4[0], v6[0]], NetworkStack.dual), ([v4[1], v6[1]], .dual), ([v4[0]], .v4),
            ([v6[1]], .v6),
            ([v4[2], v6[0]], .v6),
            // If no server can be reached, the servers may be down, so both families count as
            // working.
            ([], .dual),
        ]
    )
    func bothRoutes(_ reachable: [String], _ expected: NetworkStack) async {
        let (stack, tried) = await Self.result(.dual, Self.v4 + Self.v6, reaching: Set(reachable))
        #expect(stack == expected)
        #expect(tried.count <= 4)
    }

    @Test("a family with a route but no server counts as working, and the probe does not connect")
    func noServer() async {
        let (stack, tried) = await Self.result(.dual, Self.v4, reaching: [])
        #expect(stack == .dual)
        #expect(tried.isEmpty)
    }

    @Test("a refused connection shows that the family works")
    func refused() async throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let listener = try await StreamListener(binding: any)
        let address = try #require(await listener.localAddress)
        await listener.close()
        #expect(await StackProbe.connects(to: address, Clock.now + .seconds(5)))
    }
}
