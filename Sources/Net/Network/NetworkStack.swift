// SPDX-License-Identifier: Apache-2.0

/// Address families that have Internet access.
package enum NetworkStack: String, Sendable, Hashable, CaseIterable {
    case none, v4, v6, dual

    package init(hasIPv4: Bool, hasIPv6: Bool) {
        self =
            switch (hasIPv4, hasIPv6) {
            case (true, true): .dual
            case (true, false): .v4
            case (false, true): .v6
            case (false, false): .none
            }
    }

    /// Addresses of root servers, to which no packet is sent.
    private static let targets = [
        SocketAddress("193.0.14.129:53"), SocketAddress("[2001:7fd::1]:53"),
    ]
    .compactMap(\.self)

    /// Returns the families for which this machine has a route to the Internet (464XLAT counts).
    package static func ofMachine() -> NetworkStack {
        let sources = targets.compactMap(SocketAddress.source).filter { !$0.isLinkLocal }
        return NetworkStack(
            hasIPv4: sources.contains { !$0.isIPv6 },
            hasIPv6: sources.contains(where: \.isIPv6)
        )
    }
}

extension SocketAddress {
    /// True for loopback, 169.254.0.0/16 and fe80::/10.
    var isLinkLocal: Bool {
        isIPv6
            ? octets[0] == 0xFE && octets[1] & 0xC0 == 0x80
                || octets.dropLast().allSatisfy { $0 == 0 }
            : octets[0] == 127 || octets.starts(with: [169, 254])
    }
}
