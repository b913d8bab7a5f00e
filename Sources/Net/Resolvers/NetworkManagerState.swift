// SPDX-License-Identifier: Apache-2.0

/// Latest reply of NetworkManager, which can stay valid after the end of NetworkManager.
///
/// When NetworkManager ends, for example because D-Bus ends, its links stay up. NetworkManager's
/// resolv.conf cannot replace the reply, because this file has neither routing domains nor
/// priorities: the names of a VPN would be sent to servers outside of the VPN.
struct NetworkManagerState {
    private var latest: BusValue?

    private var hasEnded = false

    var isKnown: Bool { latest != nil }

    /// Text for the log if NetworkManager does not run and its latest reply is still used;
    /// otherwise nil.
    var problem: String? {
        guard hasEnded, isKnown else { return nil }
        return """
            NetworkManager does not run; its latest servers stay in use, because they require TLS \
            or belong to a VPN
            """
    }

    mutating func hasReplied(_ reply: BusValue) { (latest, hasEnded) = (reply, false) }

    mutating func hasStopped() { hasEnded = true }

    /// Returns the settings of the latest reply; nil if there is none.
    ///
    /// After NetworkManager has ended, its latest reply is valid only while one of the links in the
    /// reply is protected: the link is up, and its servers require TLS or belong to a VPN.
    ///
    /// - Parameter running: interfaces that are up, by name; nil if unknown.
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
