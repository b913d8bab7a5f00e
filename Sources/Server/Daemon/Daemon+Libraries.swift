// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net

// MARK: - Libraries and certificates

extension Daemon {
    /// Has libcurl and the system's certificates loaded, unless nothing needs them: that takes
    /// milliseconds, in which others are answered already, and 6 MiB.
    func prepareHTTP() {
        let (needsHTTP, needsTrust) = (assembly.needsHTTP, assembly.trustsSystem)
        guard starter == nil, needsHTTP || needsTrust else { return }
        do throws(SocketError) {
            starter = try WorkerThread(named: "http-start") {
                if needsHTTP { HTTPClient.prepare() }
                if needsTrust { TrustStores.prepare() }
            }
        } catch {
            logger.debug("no thread for the start of libcurl: \(error), ignoring")
        }
    }

    /// Logs what becomes of certificate files that change.
    func reportCertificates() {
        TrustStores.shared.observer = { [logger] notice in
            switch notice {
            case .reloaded(let source):
                logger.notice("certificates: \(source) has changed, reloaded")
            case .failed(let source, let error):
                logger.error(
                    "certificates: \(source) has changed but cannot be used (\(error)), keeping the old ones"
                )
            }
        }
    }
}

extension Assembly {
    /// Whether anything is asked over HTTP.
    fileprivate var needsHTTP: Bool { http != nil || upstreamHTTP != nil }

    /// Whether anything is asked over TLS that must prove itself to the system's certificates.
    fileprivate var trustsSystem: Bool {
        settings.vendors.contains { $0.caFile == nil && $0.account.any.usesTLS }
            || settings.upstreams.contains { $0.caFile == nil && $0.url.scheme.isProtected }
    }
}
