// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import HTTPDNS
internal import Logging
internal import Net

// MARK: - Libraries and certificates

extension Daemon {
    /// Loads libraries and the system's certificates (6 MiB) on a thread, if needed.
    func prepareHTTP() {
        let (needsHTTP, needsTrust) = (components.needsHTTP, components.trustsSystem)
        let mayNeedTLS = components.mayLearnTLS
        guard starter == nil, needsHTTP || needsTrust || mayNeedTLS else { return }
        do throws(SocketError) {
            starter = try WorkerThread(named: "http-start") {
                if mayNeedTLS { _ = OpenSSLLibrary.load() }
                if needsHTTP { HTTPClient.prepare() }
                if needsTrust { TrustStores.prepare() }
            }
        } catch {
            logger.debug("libraries: cannot create the initialization thread: \(error), ignoring")
        }
    }

    func reportCertificates() {
        TrustStores.shared.observer = { [weak self] in self?.take($0) }
    }

    func take(_ notice: TrustStores.Notice) {
        switch notice {
        case .reloaded(let source):
            certificateFaults[source] = nil
            absentCertificates.remove(source)
            logger.notice("certificates: reloaded \(source), which has changed")
        case .failed(let source, let error):
            let fault =
                "cannot use \(source), which has changed: \(error), keeping the old certificates"
            certificateFaults[source] = fault
            logger.error("certificates: \(fault)")
        case .absent(let source, let error):
            let fault =
                "cannot use \(source): \(error); if no other CA certificates are installed, all "
                + "connections over TLS fail; to correct this, install the CA certificates of the "
                + "system"
            certificateFaults[source] = fault
            absentCertificates.insert(source)
            logger.error("certificates: \(fault)")
        }
    }

    func forgetCertificateFaults(of old: Settings) {
        let files =
            old.vendors.map(\.client.certificateFile) + old.upstreams.map(\.caFile) + [
                old.fleet?.caFile
            ]
        for file in files.compactMap(\.self) { certificateFaults[file] = nil }
        guard !components.trustsSystem, !components.mayLearnTLS else { return }
        certificateFaults = [:]
        absentCertificates = []
    }
}

extension Settings {
    var needsOpenSSL: Bool {
        !vendors.isEmpty || fleet != nil
            || upstreams.contains { $0.from == nil && $0.url.scheme.isProtected }
    }
}

extension Components {
    fileprivate var needsHTTP: Bool { http != nil || upstreamHTTP != nil }

    fileprivate var mayLearnTLS: Bool { settings.upstreams.contains { $0.from != nil } }

    fileprivate var trustsSystem: Bool {
        settings.vendors.contains { $0.client.certificateFile == nil && $0.account.usesTLS }
            || settings.upstreams.contains { $0.caFile == nil && $0.url.scheme.isProtected }
            || settings.fleet.map { $0.tls && $0.caFile == nil } ?? false
    }
}
