// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Request parameters of a route, which replace the vendor's settings.
///
/// The parameters are part of dictionary keys; therefore, this class stores their hash value.
package final class RouteParameters: Sendable {
    package let clientSubnet: IPAddress?

    /// Alibaba's custom parameters, sorted; nil to use the parameters of the vendor's settings.
    ///
    /// The names have the prefix `sdns-`.
    let sdns: [Alibaba.Parameter]?

    private let hash: Int

    /// Creates parameters; nil if both arguments are nil.
    ///
    /// - Parameter sdns: custom parameters; names without `sdns-`.
    /// - Precondition: `Alibaba.init` accepts the parameters `sdns`.
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

    /// Text that identifies the parameters; equal parameters have equal texts in all processes.
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
