// SPDX-License-Identifier: Apache-2.0
internal import Glibc

extension SocketAddress {
    /// Returns the source address for packets to `target`, nil without a route; sends nothing.
    package static func source(towards target: SocketAddress) -> SocketAddress? {
        guard
            let socket = try? OwnedDescriptor.socket(target.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        else { return nil }
        return socket.connect(to: target) == 0 ? socket.localAddress : nil
    }
}
