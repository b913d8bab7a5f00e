// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net
internal import Upstream

extension Assembly {
    /// Makes the upstreams, of one server an address each.
    ///
    /// - Throws: `StartError.upstream`: certificates to trust that cannot be read.
    static func upstreams(
        _ all: [UpstreamSettings]
    ) throws(StartError) -> [any Forwarding] {
        // One client for all over HTTPS, not the vendors': a busy one must not take the other's
        // connections, nor may one whose handshake is long be cut off after 800 ms.
        lazy var http = HTTPClient(limits: Self.patientLimits)
        var tls: [String?: TLSClient] = [:]
        var upstreams: [any Forwarding] = []
        for settings in all {
            if settings.url.scheme == .tls, tls[settings.caFile] == nil {
                do throws(TLSError) {
                    tls[settings.caFile] = try TLSClient(
                        certificateFile: settings.caFile,
                        protocols: ["dot"]
                    )
                } catch {
                    throw .upstream(settings.name, "\(error)")
                }
            }
            let latency = LatencyHistogram()
            var servers: [any Forwarding] = []
            for address in settings.servers {
                switch settings.url.scheme {
                case .udp:
                    servers.append(
                        PlainUpstream(
                            name: settings.name,
                            address: address,
                            timeout: settings.timeout,
                            latency: latency
                        )
                    )
                case .tcp:
                    servers.append(
                        StreamUpstream(
                            name: settings.name,
                            url: settings.shown(at: address),
                            server: address,
                            timeout: settings.timeout,
                            latency: latency
                        )
                    )
                case .tls:
                    guard let client = tls[settings.caFile] else { continue }
                    servers.append(
                        StreamUpstream(
                            name: settings.name,
                            url: settings.shown(at: address),
                            server: address,
                            tlsName: settings.url.host,
                            tls: client,
                            timeout: settings.timeout,
                            latency: latency
                        )
                    )
                case .https:
                    servers.append(
                        HTTPSUpstream(
                            name: settings.name,
                            url: settings.shown(at: address),
                            requestURL: "\(settings.url)",
                            server: address,
                            certificateFile: settings.caFile,
                            timeout: settings.timeout,
                            transport: http,
                            latency: latency,
                            reset: { [http] in http.reset() }
                        )
                    )
                }
            }
            upstreams.append(
                servers.count == 1
                    ? servers[0]
                    : Upstream(url: "\(settings.url)", servers: servers, latency: latency)
            )
        }
        return upstreams
    }

    /// Has an operator told when an upstream rests, leads back here, or is well again.
    func reportUpstreams(to logger: Logger) {
        upstreamHealth.report = { news in
            logger.log(level: news.isTrouble ? .warning : .notice, "\(news)")
        }
    }

    /// Drops the upstreams' connections and what was learnt of their servers.
    func upstreamNetworkChanged() {
        upstreamHealth.networkChanged()
        for upstream in upstreams { upstream.networkChanged() }
    }

    /// An upstream's own timeout is the bound of its handshakes.
    private static var patientLimits: HTTPClient.Limits {
        var limits = HTTPClient.Limits()
        limits.connectTime = SettingsLimits.timeout.upperBound
        return limits
    }
}

extension UpstreamSettings {
    /// The URL, and behind it the address if that is another.
    fileprivate func shown(at address: SocketAddress) -> String {
        guard !addresses.isEmpty else { return "\(url)" }
        return "\(url) (\(address.port == url.port ? address.host : address.description))"
    }
}
