// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

package struct VendorReply: Sendable, Hashable {
    package var answer: VendorAnswer

    package var families: Families

    package var server: SocketAddress

    package var duration: Duration

    package var wasMerged = false

    /// Creates a reply that the vendor sent to this host, or to another host of the fleet.
    package init(
        answer: VendorAnswer,
        families: Families,
        server: SocketAddress,
        duration: Duration = .zero
    ) {
        self.answer = answer
        self.families = families
        self.server = server
        self.duration = duration
    }
}

package struct VendorFailure: Error, Hashable {
    package var reason: VendorError

    /// True if other clients' calls are the reason that the name got no call.
    package var isCrowded = false
}
