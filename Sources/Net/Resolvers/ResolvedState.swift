// SPDX-License-Identifier: Apache-2.0

/// Latest reply of systemd-resolved.
///
/// The resolv.conf of systemd-resolved cannot replace the reply, because this file contains neither
/// TLS settings nor routing domains.
struct ResolvedState {
    private enum Service {
        case absent

        /// May run, but has not replied over D-Bus.
        case silent

        case running

        /// The latest reply stays valid, because it has a VPN server or a TLS server.
        case ended
    }

    private var service = Service.absent

    private var latest: (manager: BusValue, links: [Int32: BusValue])?

    var isKnown: Bool { latest != nil }

    var isSilent: Bool { service == .silent }

    var allowsFile: Bool {
        service == .absent
    }

    var problem: String? {
        switch service {
        case .silent:
            """
            systemd-resolved does not reply; until it replies, the daemon uses no DNS server of \
            the network
            """
        case .ended:
            """
            systemd-resolved does not run; its latest servers stay in use, because they require \
            TLS or belong to a VPN
            """
        case .absent, .running: nil
        }
    }

    mutating func hasNotReplied() {
        if latest == nil { service = .silent }
    }

    mutating func hasReplied(_ manager: BusValue, _ links: [Int32: BusValue]) {
        latest = (manager, links)
        service = .running
    }

    mutating func hasStopped() {
        service = latest == nil ? .absent : .ended
    }

    /// Returns nil without a reply.
    ///
    /// Also returns nil after the end of the service, unless a link with VPN or TLS servers is up.
    mutating func settings(
        _ names: [Int32: String],
        running: [String: LinkResolvers.Interface]?
    ) -> [LinkResolvers]? {
        guard let latest else { return nil }
        let list = LinkResolvers.reading(
            resolved: latest.manager,
            links: latest.links,
            names: names
        )
        guard service == .ended, !list.contains(where: { $0.isProtected(running) }) else {
            return list
        }
        self.latest = nil
        service = .absent
        return nil
    }
}

extension LinkResolvers {
    /// True if the link is up, and its servers require TLS or belong to a VPN.
    func isProtected(_ running: [String: Interface]?) -> Bool {
        let interface = running?[link]
        guard link.isEmpty || running == nil || interface != nil else { return false }
        return isTunnel || interface?.isTunnel ?? false || servers.contains { $0.tlsName != nil }
    }
}
