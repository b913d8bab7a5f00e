// SPDX-License-Identifier: Apache-2.0
internal import Configuration
package import Control
internal import DNSWire
internal import DaemonLog
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver
internal import Upstream

// MARK: - Pausing

extension ControlHandler {
    package func pause(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply {
        var reply: PauseReply
        switch try server(subject) {
        case .vendor(let client):
            let before = client.statistics.state
            client.pause()
            reply = PauseReply(client, changed: before != .paused, now: clocks.now())
        case .upstream(let name):
            let changed = daemon.state.upstreamHealth.pause(name)
            reply = PauseReply(upstream: name, changed: changed, isPaused: true)
        }
        let problems = daemon.state.pauseProblems
        if !problems.isEmpty { reply.problems = problems }
        return reply
    }

    package func resume(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply {
        switch try server(subject) {
        case .vendor(let client):
            let changed =
                switch client.statistics.state {
                case .paused, .refused: true
                case .open, .limited, .overBudget: false
                }
            client.resume()
            return PauseReply(client, changed: changed, now: clocks.now())
        case .upstream(let name):
            let changed = daemon.state.upstreamHealth.resume(name)
            return PauseReply(upstream: name, changed: changed, isPaused: false)
        }
    }

    package func countByVendors() async { await resolveCounts.refresh(daemon.state) }

    package func bill(_ request: BillRequest) async throws(MethodError) -> BillReply {
        if let name = request.reset {
            guard case .vendor(let client) = try server(.vendor(name)) else {
                throw .notFound(what: "vendor `\(name.shortened)`")
            }
            do throws(UsageStoreError) {
                try client.resetUsage()
            } catch {
                throw .failed(reason: "cannot reset the counts: \(error)")
            }
        }
        return bill(isMonthly: request.month ?? false)
    }

    private enum Server {
        case vendor(VendorClient)
        case upstream(String)
    }

    private func server(_ subject: PauseRequest.Subject) throws(MethodError) -> Server {
        let clients = daemon.state.vendors.map(\.client)
        let upstreams = daemon.state.upstreams.map(\.name)
        let (name, what, isVendor, isUpstream) =
            switch subject {
            case .vendor(let name): (name, "vendor", true, false)
            case .upstream(let name): (name, "upstream", false, true)
            case .either(let name): (name, "vendor or upstream", true, true)
            }
        if isVendor, let client = clients.first(where: { $0.name == name }) {
            return .vendor(client)
        }
        if isUpstream, upstreams.contains(name) { return .upstream(name) }
        let names = (isVendor ? clients.map(\.name) : []) + (isUpstream ? upstreams : [])
        let hint =
            DidYouMean.hint(for: name, among: names)
            ?? (names.isEmpty ? "none configured" : "configured: \(names.joined(separator: ", "))")
        throw .notFound(what: "\(what) `\(name.shortened)` (\(hint))")
    }
}

// MARK: - Active settings

extension ControlHandler {
    package func settings() -> LongReply<SettingsReply> {
        let (file, settings) = (daemon.settingsFile, daemon.state.settings)
        return LongReply(
            excess: "the settings are longer than 16 MiB; read the file \(file)"
        ) {
            settings.shownText(limit: ControlLimits.replyOctets).map {
                SettingsReply(file: file, text: $0)
            }
        }
    }

    package func routes(_ request: RoutesRequest) throws(MethodError) -> LongReply<RoutesReply> {
        let routes = daemon.state.settings.routes
        let excess =
            "the list of routes is longer than 16 MiB; ask for the route of one name, or read "
            + "the file \(daemon.settingsFile)"
        guard let text = request.name else {
            return LongReply(excess: excess) {
                var reply = RoutesReply(routes: [])
                var octets = 0
                for route in routes {
                    let entry = RouteEntry(route)
                    octets += entry.minimumOctets
                    guard octets <= ControlLimits.replyOctets else { return nil }
                    reply.routes.append(entry)
                }
                return reply
            }
        }
        let query = Query(question: Question(name: try Self.name(text, "name"), type: .a))
        guard let match = daemon.state.resolver.preview(query).match else {
            throw .notFound(what: "route of \(text.shortened)")
        }
        let route = routes.first { "\($0.place)" == match.route.place }.map(RouteEntry.init)
        let reply = RoutesReply(
            routes: [route ?? RouteEntry(ofNetwork: match)],
            pattern: "\(match.pattern)"
        )
        return LongReply(excess: excess) { reply }
    }

    package func logLevel(_ request: LogLevelRequest) async throws(MethodError) -> LogLevelReply {
        guard let log = daemon.log else { throw .failed(reason: "this daemon has no log") }
        if let text = request.level {
            let words = Logger.Level.allCases.map(\.rawValue) + ["settings"]
            guard words.contains(text) else {
                let hint =
                    DidYouMean.hint(for: text, among: words)
                    ?? "valid: \(words.joined(separator: ", "))"
                throw .invalidArgument(
                    argument: "level",
                    reason: "unknown level `\(text.shortened)`; \(hint)"
                )
            }
            log.setLevel(Logger.Level(rawValue: text))
        }
        let levels = log.levels
        return LogLevelReply(level: "\(levels.now)", settingsLevel: "\(levels.settings)")
    }
}

// MARK: - Captive portals

extension ControlHandler {
    package func portal(_ request: PortalRequest) async throws(MethodError) -> PortalReply {
        let state = daemon.state
        let seconds = request.forSeconds ?? PortalRequest.seconds.standard
        guard PortalRequest.seconds.range.contains(seconds) else {
            let range = PortalRequest.seconds.range
            throw .invalidArgument(
                argument: "for-seconds",
                reason: "must be from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        if request.off == true {
            state.learned.endPortal()
        } else if state.settings.portal == .off {
            throw .failed(reason: "the settings have `portal: off`")
        } else if !state.learned.startPortal(.seconds(Int64(seconds))) {
            throw .failed(
                reason:
                    "the network offers no DNS server (see `network` in `httpdnsctl status`)"
            )
        }
        let end = state.learned.portalEnd
        return PortalReply(
            active: end != nil,
            seconds: end?.seconds(from: state.clocks.now()),
            servers: state.learned.addresses.map(\.text)
        )
    }
}

extension RouteEntry {
    /// Creates the entry of a route that a routing domain or the captive portal mode added.
    fileprivate init(ofNetwork match: RouteTable.Match) {
        self.init(
            place: match.route.place,
            domains: ["\(match.pattern)"],
            except: [],
            vendors: [],
            upstreams: match.route.upstreams?.members.map(\.name) ?? [],
            fallback: "upstream"
        )
    }

    fileprivate init(_ route: RouteSettings) {
        self.init(
            place: "\(route.place)",
            domains: route.domains.map { "\($0)" },
            except: route.except.map { "\($0)" },
            vendors: route.vendors,
            upstreams: route.upstreams,
            fallback: route.fallback.rawValue
        )
    }
}
