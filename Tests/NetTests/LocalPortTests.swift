// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Net

@Suite(
    "A machine without free UDP ports",
    .enabled(if: PrivateNetwork.complaint == nil, "\(PrivateNetwork.complaint ?? "")"),
    .timeLimit(.minutes(15))
)
struct LocalPortTests {
    private static let onlyPort: UInt16 = 40_000

    private func withoutPorts(
        _ host: String,
        _ body: @escaping @Sendable (SocketAddress) -> Int32
    ) throws -> Int32 {
        let network = try PrivateNetwork()
        try network.setting("net.ipv4.ip_local_port_range", "\(Self.onlyPort) \(Self.onlyPort)")
        let address = try #require(SocketAddress(host, defaultPort: Self.onlyPort))
        return try network.inside {
            guard let holder = try? DatagramListener(binding: address, shared: false) else {
                return -1
            }
            return withExtendedLifetime(holder) { body(address) }
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `a datagram socket gets a port outside the range of local ports`(host: String) throws {
        let port = try withoutPorts(host) { peer in
            do throws(SocketError) {
                let socket = try OwnedDescriptor.datagrams(to: peer)
                return Int32(socket.localAddress?.port ?? 0)
            } catch {
                return -error.code
            }
        }
        #expect(port >= 1024 && port != Self.onlyPort)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `an address of this machine counts as local even if all its ports are in use`(host: String)
        throws
    {
        #expect(try withoutPorts(host) { $0.isLocal ? 1 : 0 } == 1)
    }

    @Test func `an address of another machine is not local`() throws {
        #expect(
            try withoutPorts("127.0.0.1") { _ in
                SocketAddress("192.0.2.1:53").map(\.isLocal) == false ? 1 : 0
            } == 1
        )
    }
}
