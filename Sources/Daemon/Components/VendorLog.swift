// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import HTTPDNS
internal import Logging
internal import Net

/// Logger of a vendor's events; logs a persistent failure of the endpoint refresh only once.
@ServiceLoop
final class VendorLog {
    private let name: String
    private let logger: Logger
    private var servers: [SocketAddress] = []
    private var isFailing = false

    init(_ name: String, _ logger: Logger) {
        self.name = name
        self.logger = logger
    }

    func log(_ notice: VendorClient.Notice) {
        switch notice {
        case .servers(let found):
            if found != servers || isFailing {
                let list = found.map { "\($0)" }.joined(separator: ", ")
                logger.info("vendor \(name): endpoints refreshed: \(list)")
            }
            servers = found
            isFailing = false
        case .noServers(let error):
            if !isFailing {
                logger.warning(
                    "vendor \(name): endpoint refresh failed: \(error), keeping the known endpoints",
                    metadata: ["vendor": "\(name)", "error": "\(error.kind.rawValue)"]
                )
            }
            isFailing = true
        case .failed(let server, let error, let next):
            let consequence =
                switch next {
                case server: "retrying"
                case let next?: "trying \(next)"
                case nil: "trying the next vendor or the fallback"
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
                vendor \(name): account refused: \(error); next attempt in \
                \(pause.components.seconds) s, or after `httpdnsctl resume \(name)`
                """,
                metadata: ["vendor": "\(name)", "error": "\(error.kind.rawValue)"]
            )
        case .clockRefused(let seconds, let limit):
            logger.warning(
                """
                vendor \(name): the clocks of the vendor and this machine differ by \
                \(seconds.magnitude) s, but at most \(limit) s can be corrected; set the clock of \
                this machine (NTP)
                """,
                metadata: ["vendor": "\(name)", "error": "clock"]
            )
        case .shareSpent(let rule):
            logger.warning(
                """
                vendor \(name): one client, or all unproven clients together, used up their part \
                of the \(rule); the next vendor or the fallback answers their queries
                """,
                metadata: ["vendor": "\(name)"]
            )
        case .budgetSpent(let rule):
            let consequence =
                switch rule.onExceeded {
                case .fallback: "no calls until the budget restarts (next day or month, UTC)"
                case .warn: "calling the vendor anyway"
                }
            logger.warning(
                "vendor \(name): \(rule) spent, \(consequence)",
                metadata: ["vendor": "\(name)"]
            )
        case .usageUnknown(let problem, let rule):
            let consequence =
                rule.onExceeded == .fallback
                ? "not calling the vendor" : "calling the vendor anyway"
            logger.warning(
                "vendor \(name): cannot check the \(rule): \(problem); \(consequence)",
                metadata: ["vendor": "\(name)"]
            )
        }
    }
}

// MARK: - Beginning and end

extension Daemon {
    func startVendors(_ vendors: [(settings: VendorSettings, client: VendorClient)]) {
        for vendor in vendors {
            let log = VendorLog(vendor.settings.name, logger)
            if !vendor.client.facts.isProtected {
                let channel = vendor.settings.account.channel
                logger.info("vendor \(vendor.client.name): unprotected (\(channel))")
            }
            vendor.client.observer = { [weak self] notice in
                log.log(notice)
                guard case .failed(_, let error, next: _) = notice else { return }
                self?.network.portal.failed(error)
            }
            vendor.client.start()
        }
        // `usageUnknown` logs the problem for vendors with a spent budget.
        let others = vendors.lazy.map(\.client.statistics).filter { !$0.isBudgetSpent }
        if let problem = others.compactMap(\.usageProblem).first {
            logger.warning("\(problem); calling the vendors anyway")
        }
    }

    func stopVendors() {
        for vendor in components.vendors {
            if vendor.client.statistics.state == .paused {
                let name = vendor.client.name
                logger.notice("vendor \(name): paused; the next start of the daemon ends the pause")
            }
            vendor.client.stop()
        }
    }
}
