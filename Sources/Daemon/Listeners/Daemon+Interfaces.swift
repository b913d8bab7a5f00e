// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import Logging
internal import Net

// MARK: - Interfaces of listen addresses

extension Daemon {
    /// Watches interfaces while a listen address names an interface.
    ///
    /// ``NetworkReaction`` does not report these changes: it ignores link-local addresses.
    func followInterfaces() {
        guard components.settings.listensOnInterface else { return interfaces = nil }
        if interfaces == nil {
            do {
                interfaces = try LinkWatch { [weak self] in self?.interfacesChanged() }
            } catch {
                logger.warning(
                    """
                    cannot watch the network interfaces: \(error); when the interface of a listen \
                    address is created, run `httpdnsctl reload`
                    """
                )
            }
        }
        interfacesChanged()
    }

    private func interfacesChanged() {
        // Waits until a reload ends, because a reload first binds addresses, and serves them only
        // later.
        settingsQueue.add { [self] in
            guard !isStopping, let misses else { return }
            let handlers = ListenerManager.Handlers(
                components: components,
                handler: handler,
                misses: misses,
                own: own
            )
            listenerManager.interfacesChanged(handlers)
            scrapePoints.interfacesChanged(components.settings.metrics)
        }
    }
}

extension Settings {
    fileprivate var listensOnInterface: Bool {
        listen.contains { $0.scope != 0 }
            || metrics.listen.contains {
                if case .address(let address) = $0 { address.scope != 0 } else { false }
            }
    }
}
