// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Net

@Suite("Translation of server addresses")
struct AddressTranslationTests {
    private static func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(text))
    }

    @ServiceLoop
    private final class Routes {
        var hasRoute = false
        var lookups = 0

        private(set) lazy var translation = AddressTranslation { [unowned self] _ in
            lookups += 1
            return hasRoute
        }
    }

    /// Returns `octets`, an IPv4 address, translated to 64:ff9b::/96; nil if the last octet of the
    /// IPv4 address is below 16.
    private static func embed(_ octets: [UInt8]) -> [UInt8]? {
        octets[3] < 16 ? nil : [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] + octets
    }

    @Test("an IPv4 server without a route is reached through NAT64 while the NAT64 prefix is known")
    @ServiceLoop
    func translated() throws {
        let routes = Routes()
        let server = try Self.address("192.0.2.33:443")
        #expect(routes.translation.address(for: server) == server)
        #expect(routes.lookups == 0)
        routes.translation.use(Self.embed)
        for _ in 1...3 {
            #expect(
                routes.translation.address(for: server)
                    == (try Self.address("[64:ff9b::c000:221]:443"))
            )
        }
        #expect(routes.lookups == 1)
        routes.translation.use(nil)
        #expect(routes.translation.address(for: server) == server)
    }

    @Test("IPv6 servers, reachable servers and addresses without a translation are unchanged")
    @ServiceLoop
    func direct() throws {
        let routes = Routes()
        routes.translation.use(Self.embed)
        for text in ["[2001:db8::1]:53", "192.0.2.1:53"] {
            let server = try Self.address(text)
            #expect(routes.translation.address(for: server) == server)
        }
        routes.hasRoute = true
        let server = try Self.address("192.0.2.33:53")
        #expect(routes.translation.address(for: server) == server)
        routes.hasRoute = false
        #expect(routes.translation.address(for: server) == server)
        routes.translation.networkChanged()
        #expect(routes.translation.address(for: server).isIPv6)
    }

    @Test("the working address families determine the network stack: dual, IPv4, IPv6 or none")
    func stacks() {
        #expect(NetworkStack(hasIPv4: true, hasIPv6: true) == .dual)
        #expect(NetworkStack(hasIPv4: true, hasIPv6: false) == .v4)
        #expect(NetworkStack(hasIPv4: false, hasIPv6: true) == .v6)
        #expect(NetworkStack(hasIPv4: false, hasIPv6: false) == .none)
    }
}
