// SPDX-License-Identifier: Apache-2.0

/// Latest reply of NetworkManager, which can stay valid after the end of NetworkManager.
///
/// NetworkManager's resolv.conf cannot replace the reply, because this file has neither routing
/// domains nor priorities.
struct NetworkManagerState {
    private var latest: BusValue?

    private var hasEnded = false

    var isKnown: Bool { latest != nil }

    var problem: String? {
        guard hasEnded, isKnown else { return nil }
        return """
            NetworkManager does not run; its latest servers stay in use, because they require TLS \
            or belong to a VPN
            """
    }

    mutating func hasReplied(_ reply: BusValue) { (latest, hasEnded) = (reply, false) }

    mutating func hasStopped() { hasEnded = true }

    /// Returns nil without a reply.
    ///
    /// Also returns nil after the end of NetworkManager, unless a link with VPN or TLS servers is
    /// up.
    mutating func settings(
        running: [String: LinkResolvers.Interface]?
    ) -> (links: [LinkResolvers], unreadable: [String])? {
        guard let latest else { return nil }
        let settings = LinkResolvers.reading(networkManager: latest)
        guard hasEnded, !settings.links.contains(where: { $0.isProtected(running) }) else {
            return settings
        }
        self.latest = nil
        return nil
    }
}
