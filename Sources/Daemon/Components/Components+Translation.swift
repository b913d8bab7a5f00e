// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import DNSWire
internal import Net
internal import Resolver
internal import Upstream

extension Components {
    /// Servers to ask for the NAT64 prefix, in order; resolvers of the local network know the
    /// prefix.
    var prefixServers: [any Forwarding] { upstreams.flatMap(\.servers) }
}

extension NAT64.Mode {
    init(_ setting: NAT64Setting) {
        self =
            switch setting {
            case .automatic: .discover
            case .off: .off
            case .prefix(let prefix): .fixed(prefix)
            }
    }
}

extension AddressTranslation {
    func use(_ finding: NAT64.Finding?) {
        guard let prefix = finding?.prefix else { return use(nil as Embedding?) }
        use { octets in
            IPv4Address(octets: octets).flatMap(prefix.synthesize)?.octets
        }
    }
}
