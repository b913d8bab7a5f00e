// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net
internal import Upstream

/// Transports of all upstreams over HTTPS.
struct UpstreamHTTP: Sendable {
    /// Carries clients' queries.
    let queries: any HTTPTransport

    /// Carries the daemon's own questions, which must not wait for those of clients.
    let probes: any HTTPTransport
}

extension Assembly {
    /// Makes the upstreams, of one server an address each.
    ///
    /// - Throws: `StartError.upstream`: certificates to trust that cannot be read.
    static func upstreams(
        _ all: [UpstreamSettings],
        _ surroundings: Surroundings,
        succeeding old: Assembly?
    ) throws(StartError) -> (upstreams: [any Forwarding], http: UpstreamHTTP?) {
        // One transport for all upstreams over HTTPS, and another for vendors: neither may use up the
        // connections of the other.
        var http = old?.upstreamHTTP
        if http == nil, all.contains(where: { $0.url.scheme == .https }) {
            http = UpstreamHTTP(queries: surroundings.transport(), probes: surroundings.transport())
        }
        var tls: [String?: TLSClient] = [:]
        var upstreams: [any Forwarding] = []
        for settings in all {
            if let known = old?.upstream(of: settings) {
                upstreams.append(known)
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
                    over: way(of: settings, to: address, http, tls[settings.caFile], surroundings),
                    latency: latency,
                    clocks: surroundings.clocks
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

    /// How a server of an upstream is reached.
    private static func way(
        of settings: UpstreamSettings,
        to address: SocketAddress,
        _ http: UpstreamHTTP?,
        _ tls: TLSClient?,
        _ surroundings: Surroundings
    ) -> any UpstreamTransport {
        guard settings.url.scheme == .https, let http else {
            return surroundings.way(settings, address, settings.url.scheme == .tls ? tls : nil)
        }
        return HTTPSTransport(
            to: "\(settings.url)",
            at: address,
            certificateFile: settings.caFile,
            validates: settings.validates,
            over: http.queries,
            probes: http.probes,
            clocks: surroundings.clocks
        )
    }

    /// The upstream that was made of just these settings; nil if there is none.
    private func upstream(of settings: UpstreamSettings) -> (any Forwarding)? {
        zip(self.settings.upstreams, upstreams).first { $0.0.hasSameServers(as: settings) }?.1
    }

    /// Makes what speaks TLS with the servers of an upstream.
    private static func client(_ settings: UpstreamSettings) throws(StartError) -> TLSClient {
        do throws(TLSError) {
            return try TLSClient(certificateFile: settings.caFile, protocols: ["dot"])
        } catch {
            throw .upstream(settings.name, "\(error)")
        }
    }

    /// Has an operator told which upstreams are unprotected, and when one rests, leads back here, or
    /// is well again.
    ///
    /// - Parameter old: the assembly before, whose upstreams are known.
    func reportUpstreams(to logger: Logger, after old: Assembly? = nil) {
        for upstream in upstreams where !upstream.isProtected {
            guard old?.upstreams.contains(where: { $0 === upstream }) != true else { continue }
            logger.info("upstream \(upstream.name) (\(upstream.url)) is unprotected")
        }
        upstreamHealth.reportFailure = { name, url, error in
            logger.debug(
                "upstream \(name) (\(url)) failed: \(error)",
                metadata: ["upstream": "\(name)"]
            )
        }
        upstreamHealth.report = { news in
            logger.log(
                level: news.isTrouble ? .warning : .notice,
                "\(news)",
                metadata: [
                    "upstream": "\(news.server.name)", "server": "\(news.server.url)",
                    "event": "\(news.kind)",
                ]
            )
        }
    }

    /// Drops the upstreams' connections and what was learnt of their servers.
    func upstreamNetworkChanged() {
        upstreamHealth.networkChanged()
        for upstream in upstreams { upstream.networkChanged() }
    }
}

extension UpstreamSettings {
    /// The URL, and behind it the address if that is another.
    func shown(at address: SocketAddress) -> String {
        guard !addresses.isEmpty else { return "\(url)" }
        return "\(url) (\(address.port == url.port ? address.host : address.description))"
    }
}
