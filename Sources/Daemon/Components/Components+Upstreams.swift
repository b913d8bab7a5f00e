// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import HTTPDNS
internal import Logging
internal import Net
internal import Upstream

struct UpstreamHTTP: Sendable {
    let queries: any HTTPTransport

    /// Separate transport, because health probes must not wait for client queries.
    let probes: any HTTPTransport

    let shares: TransferShares
}

extension Components {
    static func upstreams(
        _ all: [UpstreamSettings],
        _ dependencies: Dependencies,
        succeeding old: Components?
    ) throws(StartError) -> (upstreams: [any Forwarding], http: UpstreamHTTP?) {
        // Vendors and upstreams must not exhaust each other's connections.
        var http = old?.upstreamHTTP
        if http == nil, all.contains(where: { $0.from == nil && $0.url.scheme == .https }) {
            http = UpstreamHTTP(
                queries: dependencies.http(),
                probes: dependencies.http(),
                shares: TransferShares()
            )
        }
        var tls: [String?: TLSClient] = [:]
        var upstreams: [any Forwarding] = []
        for settings in all {
            if let known = old?.upstream(of: settings) {
                upstreams.append(known)
                continue
            }
            if let source = settings.from {
                upstreams.append(
                    LearnedUpstream(
                        name: settings.name,
                        url: "\(source)",
                        timeout: settings.timeout
                    )
                )
                continue
            }
            if settings.url.scheme == .tls, tls[settings.caFile] == nil {
                tls[settings.caFile] = try client(settings)
            }
            let latency = LatencyHistogram()
            let servers = settings.servers.map { address in
                Forwarder(
                    name: settings.name,
                    url: settings.shown(at: address),
                    timeout: settings.timeout,
                    over: way(of: settings, to: address, http, tls[settings.caFile], dependencies),
                    latency: latency,
                    clocks: dependencies.clocks
                )
            }
            upstreams.append(
                servers.count == 1
                    ? servers[0]
                    : Upstream(url: "\(settings.url)", servers: servers, latency: latency)
            )
        }
        return (upstreams, http)
    }

    static func way(
        of settings: UpstreamSettings,
        to address: SocketAddress,
        _ http: UpstreamHTTP?,
        _ tls: TLSClient?,
        _ dependencies: Dependencies
    ) -> any UpstreamTransport {
        guard settings.url.scheme == .https, let http else {
            let tls = settings.url.scheme == .tls ? tls : nil
            // The address of a server on an interface is not translated, because the NAT64 prefix
            // is possibly from another interface.
            guard !address.isIPv6, address.link == 0 else {
                return dependencies.way(settings, address, tls)
            }
            return TranslatedTransport(to: address, dependencies.translation) {
                dependencies.way(settings, $0, tls)
            }
        }
        return HTTPSTransport(
            to: settings.url.text,
            at: address,
            certificateFile: settings.caFile,
            validates: settings.validates,
            over: http.queries,
            probes: http.probes,
            shares: http.shares,
            clocks: dependencies.clocks
        )
    }

    private func upstream(of settings: UpstreamSettings) -> (any Forwarding)? {
        zip(self.settings.upstreams, upstreams).first { $0.0.hasSameServers(as: settings) }?.1
    }

    private static func client(_ settings: UpstreamSettings) throws(StartError) -> TLSClient {
        do throws(TLSError) {
            return try TLSClient(certificateFile: settings.caFile, protocols: ["dot"])
        } catch {
            throw .upstream(settings.name, "\(error)")
        }
    }

    /// Number of answers of vendors and protected upstreams, which no captive portal can forge.
    var answersOfInternet: UInt64 {
        let calls = vendors.lazy.map(\.client.statistics).map { $0.successes + $0.empty }
        let queries = upstreams.lazy.filter(\.isProtected).map(\.numbers.successes)
        return calls.reduce(0, &+) &+ queries.reduce(0, &+)
    }

    func reportUpstreams(
        to logger: Logger,
        after old: Components? = nil,
        failed: @escaping @ServiceLoop (UpstreamError) -> Void
    ) {
        for upstream in upstreams where !upstream.isProtected {
            guard old?.upstreams.contains(where: { $0 === upstream }) != true else { continue }
            logger.info("upstream \(upstream.name): unprotected (\(upstream.url))")
        }
        upstreamHealth.reportFailure = { name, url, error in
            logger.debug(
                "upstream \(name): query to \(url) failed: \(error)",
                metadata: ["upstream": "\(name)"]
            )
            failed(error)
        }
        upstreamHealth.report = { news in
            logger.log(
                level: news.isTrouble ? .warning : .notice,
                "\(news.text)",
                metadata: [
                    "upstream": "\(news.server.name)", "server": "\(news.server.url)",
                    "event": "\(news.kind)",
                ]
            )
        }
    }

    func upstreamNetworkChanged() {
        upstreamHealth.networkChanged()
        for upstream in upstreams { upstream.networkChanged() }
    }
}

extension UpstreamSettings {
    func shown(at address: SocketAddress) -> String {
        guard !addresses.isEmpty else { return "\(url)" }
        return "\(url) (\(address.port == url.port ? address.host : address.description))"
    }
}
