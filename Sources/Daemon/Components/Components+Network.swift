// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Logging
internal import Net
internal import Resolver
internal import Upstream

extension Components {
    /// Starts the upstreams with `from`, whose servers come from the network or a file.
    func startLearning(_ dependencies: Dependencies, _ logger: Logger) {
        for (settings, upstream) in zip(settings.upstreams, upstreams) {
            guard case .file(let path)? = settings.from,
                let upstream = upstream as? LearnedUpstream
            else { continue }
            if let source = upstream.source {
                (source as? ResolverFileWatch)?.update()
                continue
            }
            let make = maker(dependencies, logger)
            let network = network
            var known: [LinkResolvers.Server: Forwarder] = [:]
            upstream.source = dependencies.resolverFile(path, { logger.warning("\($0)") }) {
                [weak upstream] servers, fault in
                guard let upstream else { return }
                let former = known
                known = [:]
                let all = servers.compactMap { server -> Forwarder? in
                    known[server] = former[server] ?? make(server, upstream)
                    return known[server]
                }
                let texts = servers.map { $0.address.host }
                logger.notice(
                    "upstream \(upstream.name): servers: \(texts.isEmpty ? "none" : texts.joined(separator: ", "))"
                )
                upstream.use(all, absence: fault ?? ResolverFileWatch.noServer(in: path))
                network.withdraw(former.filter { known[$0.key] == nil }.map(\.value))
            }
        }
        let own = zip(settings.upstreams, upstreams).first { $0.0.from == .network }
        network.use(own?.1 as? LearnedUpstream, health: upstreamHealth, maker(dependencies, logger))
        resolver.origins.setLearned(
            upstreams: Set(settings.upstreams.filter { $0.from != nil }.map(\.name))
        )
    }

    /// Returns a warning if the network is the only upstream, and has no server now.
    func warning(applying settings: Settings) -> String? {
        let standard = settings.upstreams.filter { !$0.only }
        guard let upstream = standard.first, standard.allSatisfy({ $0.from == .network }),
            network.addresses.isEmpty, network.domains.isEmpty
        else { return nil }
        return "the only upstream `\(upstream.name)` has `from: network`, and the network offers "
            + "no DNS server now: queries to this upstream fail"
    }

    private func maker(_ dependencies: Dependencies, _ logger: Logger) -> LearnedNetwork.Make {
        let clocks = clocks
        return { server, upstream in
            var tls: TLSClient?
            if server.tlsName != nil {
                do throws(TLSError) {
                    tls = try TLSClient(certificateFile: nil, protocols: ["dot"])
                } catch {
                    logger.warning(
                        "upstream \(upstream.name): \(server.url): \(error), ignoring this server"
                    )
                    return nil
                }
            }
            let settings = UpstreamSettings(
                name: upstream.name,
                url: UpstreamURL(to: server.address, tlsName: server.tlsName)
            )
            return Forwarder(
                name: upstream.name,
                url: server.url,
                timeout: upstream.timeout,
                isLearned: true,
                over: Self.way(of: settings, to: server.address, nil, tls, dependencies),
                latency: upstream.latency,
                clocks: clocks
            )
        }
    }
}
