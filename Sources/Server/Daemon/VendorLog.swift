// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
internal import Logging
internal import Net

/// Logs what happens to a vendor without anybody having asked for it; a failure that lasts, once.
@ServiceLoop
final class VendorLog {
    private let name: String
    private let logger: Logger

    /// The servers that the vendor named last.
    private var servers: [SocketAddress] = []

    /// Whether it has failed to name them since.
    private var isFailing = false

    init(_ name: String, _ logger: Logger) {
        self.name = name
        self.logger = logger
    }

    /// Logs what is new.
    func log(_ notice: VendorClient.Notice) {
        switch notice {
        case .servers(let found):
            if found != servers || isFailing {
                let list = found.map { "\($0)" }.joined(separator: ", ")
                logger.info("vendor \(name): its service names the servers \(list)")
            }
            servers = found
            isFailing = false
        case .noServers(let error):
            if !isFailing {
                logger.warning(
                    "vendor \(name): its service names no servers: \(error), keeping the known ones",
                    metadata: ["vendor": "\(name)", "error": "\(error.kind.rawValue)"]
                )
            }
            isFailing = true
        case .failed(let server, let error, let next):
            let consequence =
                switch next {
                case server: "asking it again"
                case let next?: "asking \(next)"
                case nil: "leaving it to who else is asked"
                }
            logger.warning(
                "vendor \(name): \(server): \(error), \(consequence)",
                metadata: [
                    "vendor": "\(name)", "server": "\(server)", "error": "\(error.kind.rawValue)",
                ]
            )
        case .refused(let error, let pause):
            logger.warning(
                """
                vendor \(name): refuses the account: \(error); asking it again in \
                \(pause.components.seconds) s, or after `httpdnsctl resume \(name)`
                """,
                metadata: ["vendor": "\(name)", "error": "\(error.kind.rawValue)"]
            )
        case .clockRefused(let seconds, let limit):
            logger.warning(
                """
                vendor \(name): its clock is \(seconds) s ahead of ours, not repaired as that is more than \
                \(limit) s: set the clock of this machine (NTP)
                """,
                metadata: ["vendor": "\(name)", "error": "clock"]
            )
        case .budgetSpent(let rule):
            let consequence =
                switch rule.onExceeded {
                case .fallback: "it is not asked before tomorrow (UTC)"
                case .warn: "ignoring"
                }
            logger.warning(
                "vendor \(name): its \(rule.callsPerDay) calls for today are spent, \(consequence)",
                metadata: ["vendor": "\(name)"]
            )
        }
    }
}

// MARK: - Beginning and end

extension Daemon {
    /// Has vendors ask for their servers, and log.
    func startVendors(_ vendors: [(settings: VendorSettings, client: VendorClient)]) {
        for vendor in vendors {
            let log = VendorLog(vendor.settings.name, logger)
            if !vendor.client.facts.isProtected {
                let channel = vendor.settings.account.channel
                logger.info("vendor \(vendor.client.name) (\(channel)) is unprotected")
            }
            vendor.client.observer = { log.log($0) }
            vendor.client.start()
        }
    }

    /// Has vendors' clients wake nobody any more; who was paused by an operator is told of, as that
    /// ends here.
    func stopVendors() {
        for vendor in assembly.vendors {
            if vendor.client.statistics.state == .paused {
                logger.notice(
                    "vendor \(vendor.client.name) was paused; when the daemon starts anew, it is asked"
                )
            }
            vendor.client.stop()
        }
    }
}
