// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Request parameters of a route, which replace the vendor's settings.
///
/// The hash value is stored, because the parameters are part of dictionary keys.
package final class RouteParameters: Sendable {
    package let clientSubnet: IPAddress?

    /// Custom parameters, sorted, with the prefix `sdns-`; nil for the vendor's settings.
    let sdns: [Alibaba.Parameter]?

    private let hash: Int

    /// - Precondition: `Alibaba.init` accepts the parameters `sdns` (names without `sdns-`).
    package init?(clientSubnet: IPAddress? = nil, sdns: [String: String]? = nil) {
        guard clientSubnet != nil || sdns != nil else { return nil }
        self.clientSubnet = clientSubnet
        self.sdns = sdns.map { sdns in
            guard let parameters = try? Alibaba.checked(sdns) else {
                preconditionFailure("the settings' checks must reject these parameters first")
            }
            return parameters
        }
        var hasher = Hasher()
        hasher.combine(clientSubnet)
        hasher.combine(self.sdns)
        hash = hasher.finalize()
    }

    /// Equal parameters have equal texts in all processes.
    package var text: String {
        let subnet = clientSubnet.map { "\($0)" } ?? ""
        let custom = sdns.map { $0.map { "\($0.name)=\($0.value)" }.joined(separator: ",") }
        return subnet + (custom.map { ";" + $0 } ?? "")
    }
}

extension RouteParameters: Hashable {
    package static func == (one: RouteParameters, other: RouteParameters) -> Bool {
        one === other
            || one.hash == other.hash && one.clientSubnet == other.clientSubnet
                && one.sdns == other.sdns
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
