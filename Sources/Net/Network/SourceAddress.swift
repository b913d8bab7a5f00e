// SPDX-License-Identifier: Apache-2.0
internal import Glibc

extension SocketAddress {
    /// Returns the source address for packets to `target`, nil without a route; sends nothing.
    package static func source(towards target: SocketAddress) -> SocketAddress? {
        guard
            let socket = try? OwnedDescriptor.socket(target.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        else { return nil }
        // SAFETY: the address lives during the call.
        let status = unsafe target.withSockaddr { unsafe connect(socket.raw, $0, $1) }
        return status == 0 ? socket.localAddress : nil
    }
}
