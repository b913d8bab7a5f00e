// SPDX-License-Identifier: Apache-2.0
import Control
import DNSCache
import DNSWire
import DaemonLog
import HTTPDNS
import Locks
import Resolver
import TestWorld
import Testing

@testable import Administration
@testable import Configuration
@testable import Daemon
@testable import Net

@Suite("The control handler of a daemon with simulated servers")
struct ControlHandlerTests {
    @ServiceLoop
    private func harness() throws -> ScenarioHarness {
        try ScenarioHarness(try Files.scenario("cache-hits-cost-no-call.rpl"))
    }

    @Test(
        "a check of settings with an invalid secret does not reveal the content of the secret file"
    )
    @ServiceLoop
    func hiddenSecret() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("not the key of this daemon", to: "key")
        let text = """
            upstreams: [{name: isp, url: "udp://192.0.2.53"}]
            routes: [{domains: [example.com], vendors: [t]}]
            vendors: {t: {kind: tencent, channel: aes, id: 1, key: {file: \(file)}}}
            """
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let reply = try await harness.operator.check(CheckRequest(text: text, file: "new.yaml"))
        let problem = try #require(reply.problems.first)
        #expect(reply.problems.count == 1)
        #expect(problem.file == "new.yaml" && problem.line == 3)
        #expect(problem.message == "the secret is not valid")
    }

    @Test("the verb `status` reads resolv.conf on another thread than the service loop")
    @ServiceLoop
    func resolvConf() async throws {
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let isOnLoop = Lock<[Bool]>([])
        let handler = ControlHandler(harness.daemon) { _ in
            isOnLoop.withLock { $0.append(LoopExecutor.shared.isCurrent) }
            return ResolvConf(pointsHere: true, nameservers: ["192.0.2.1"])
        }
        let status = try await ServiceLoop.throwingTask { try await handler.status() }.value
        #expect(status.resolvConf.nameservers == ["192.0.2.1"])
        #expect(isOnLoop.withLock(\.self) == [false])
    }

    @Test("`status` reports pauses as problems only if they leave names without a server")
    @ServiceLoop
    func pauses() async throws {
        let one = try ScenarioHarness(try Files.scenario("pause-upstream.rpl"))
        _ = try await one.operator.pause(.upstream("one"))
        let half = try await one.operator.status()
        #expect(!half.problems.contains { $0.contains("paused") }, "\(half.problems)")
        _ = try await one.operator.pause(.upstream("two"))
        let none = try await one.operator.status()
        #expect(none.state == .degraded)
        #expect(none.problems.contains { $0.hasPrefix("all upstreams are paused: ") })

        let root = try ScenarioHarness(
            try Files.scenario("route-root-is-the-least-specific.rpl")
        )
        _ = try await root.operator.pause(.upstream("isp"))
        let effect = "that are not in the cache get SERVFAIL; run `httpdnsctl resume isp`"
        let active =
            "all upstreams are paused: queries that no vendor answers and \(effect)"
        #expect(try await root.operator.status().problems.first == active)
        _ = try await root.operator.pause(.vendor("tencent"))
        let paused = try await root.operator.status().problems
        #expect(paused.contains("all upstreams are paused: names \(effect)"), "\(paused)")
        withExtendedLifetime(root) {}

        let only = try ScenarioHarness(
            try Files.scenario("fallback-none-unknown-name-is-nodata.rpl")
        )
        _ = try await only.operator.pause(.vendor("tencent"))
        let route = try await only.operator.status()
        #expect(route.problems.contains { $0.contains("paused, and `fallback` is `none`") })
        withExtendedLifetime((one, only)) {}

        let harness = try ScenarioHarness(try Files.scenario("pause-vendor.rpl"))
        for vendor in harness.daemon.state.vendors {
            _ = try await harness.operator.pause(.vendor(vendor.client.name))
        }
        let other = try await harness.operator.status()
        #expect(!other.problems.contains { $0.contains("paused") }, "\(other.problems)")
        withExtendedLifetime(harness) {}
    }

    @Test("`pause` and `status` report that no plain upstream replaces a paused encrypted upstream")
    @ServiceLoop
    func pausedEncryptedUpstream() async throws {
        let harness = try ScenarioHarness(try Files.scenario("pause-encrypted-upstream.rpl"))
        defer { withExtendedLifetime(harness) {} }
        #expect(try await harness.operator.pause(.upstream("dot")).problems == nil)
        let reply = try await harness.operator.pause(.upstream("doh"))
        let problem =
            "no upstream is left, because plain upstreams do not replace the paused encrypted "
            + "upstream dot: names that are not in the cache get SERVFAIL; run `httpdnsctl resume "
            + "dot`"
        #expect(reply.problems == [problem])
        let status = try await harness.operator.status()
        #expect(status.state == .degraded)
        #expect(status.problems == [problem])
        let explained = try await harness.operator.explain(
            ExplainRequest(name: "www.example.com"),
            isLive: false
        )
        #expect(
            explained.steps.last?.notes == [
                "dot tls://dns.example (192.0.2.53): paused by an operator",
                "doh https://dns.example.net/dns-query (192.0.2.55): paused by an operator",
                "isp udp://192.0.2.1 (unprotected): not used: unprotected upstreams do not "
                    + "replace the paused upstream dot",
            ]
        )
        #expect(try await harness.operator.resume(.upstream("doh")).problems == nil)
        #expect(try await harness.operator.status().problems == [])
    }

    @Test("if a pause leaves a route without an upstream, the reported problem names the route")
    @ServiceLoop
    func pausedUpstreamOfRoute() async throws {
        let harness = try ScenarioHarness(try Files.scenario("pause-encrypted-upstream.rpl"))
        defer { withExtendedLifetime(harness) {} }
        let daemon = try ReloadedDaemon(harness.daemon.state)
        var route = RouteSettings(place: SettingsPlace())
        route.upstreams = ["dot", "isp"]
        daemon.state.settings.routes = [route]
        let problems = try await ControlHandler(daemon).pause(.upstream("dot")).problems
        #expect(problems?.count == 1)
        #expect(problems?.first?.hasPrefix("route \(route.place): no upstream is left") == true)
    }

    @Test("if the settings or routes exceed 16 MiB, the reply is an error that names the file")
    @ServiceLoop
    func longSettings() throws {
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let daemon = try ReloadedDaemon(harness.daemon.state)
        let handler = ControlHandler(daemon)
        _ = try handler.settings().message()
        _ = try handler.routes(RoutesRequest()).message()
        var route = RouteSettings(place: SettingsPlace())
        route.vendors = [String(repeating: "v", count: 1 << 20)]
        daemon.state.settings.routes = Array(repeating: route, count: 17)
        let long = handler.settings()
        #expect(long.results() == nil)
        #expect(
            throws: MethodError.failed(
                reason: "the settings are longer than 16 MiB; read the file c.yaml"
            )
        ) { try long.message() }
        let routes = try handler.routes(RoutesRequest())
        #expect(routes.results() == nil)
        #expect(
            throws: MethodError.failed(
                reason: "the list of routes is longer than 16 MiB; ask for the route of one name, "
                    + "or read the file c.yaml"
            )
        ) { try routes.message() }
    }

    @Test("if an upstream has no server, `status` names the reason")
    @ServiceLoop
    func noServer() async throws {
        let harness = try ScenarioHarness(
            try Files.scenario("explain-upstream-without-servers.rpl")
        )
        defer { withExtendedLifetime(harness) {} }
        let status = try await harness.operator.status()
        #expect(status.problems == ["upstream network: the network offers no DNS server"])
        let fault = "/etc/resolv.conf: open: Permission denied"
        harness.daemon.components.network.use([], fault: fault)
        #expect(try await harness.operator.status().problems == ["upstream network: \(fault)"])
    }

    @Test("if CA certificates cannot be reloaded, `status` reports this until a reload succeeds")
    @ServiceLoop
    func certificates() async throws {
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let daemon = harness.daemon
        daemon.take(.failed(source: "/etc/ca.pem", .setup("/etc/ca.pem: no certificate")))
        #expect(daemon.network.portal.canVerify)
        #expect(
            try await harness.operator.status().problems == [
                "certificates: cannot use /etc/ca.pem, which has changed: "
                    + "TLS: /etc/ca.pem: no certificate, keeping the old certificates"
            ]
        )
        daemon.take(.reloaded(source: "/etc/ca.pem"))
        #expect(try await harness.operator.status().problems == [])
        daemon.take(.absent(source: "/etc/ssl", .setup("/etc/ssl: no certificate")))
        #expect(!daemon.network.portal.canVerify)
        #expect(try await harness.operator.status().problems.count == 1)
        daemon.take(.reloaded(source: "/etc/ssl"))
        #expect(daemon.network.portal.canVerify)
        #expect(try await harness.operator.status().problems == [])
    }

    @Test("while learned servers may use TLS, a reload does not clear certificate problems")
    @ServiceLoop
    func learnedServers() async throws {
        let harness = try ScenarioHarness(
            try Files.scenario("explain-upstream-without-servers.rpl")
        )
        defer { withExtendedLifetime(harness) {} }
        let daemon = harness.daemon
        daemon.take(.absent(source: "/etc/ssl", .setup("/etc/ssl: no certificate")))
        daemon.forgetCertificateFaults(of: daemon.components.settings)
        #expect(!daemon.network.portal.canVerify)
        let problems = try await harness.operator.status().problems
        #expect(problems.contains { $0.hasPrefix("certificates: ") }, "\(problems)")
    }

    @Test("if a stopping daemon cancels a reload, the call fails and reports no settings problem")
    @ServiceLoop
    func cancelledReload() async throws {
        // The daemon of a harness has no workers, like a daemon that is stopping.
        let harness = try harness()
        await #expect(
            throws: MethodError.failed(
                reason: "the daemon is stopping, and has cancelled the reload"
            )
        ) { try await harness.operator.reload() }
    }

    /// Daemon with an ``exchange()`` that replaces only the resolver, as a reload does.
    @ServiceLoop
    private final class ReloadedDaemon: ManagedDaemon {
        var state: DaemonState
        let settingsFile = "c.yaml"
        let log: LogSink? = nil
        let isLoadingSnapshot = false
        weak var former: Resolver?

        init(_ state: DaemonState) throws {
            self.state = state
            self.state.resolver = resolver()
            former = self.state.resolver
            let question = Question(name: try Name("www.example.com"), type: .a)
            let answer = CachedAnswer(
                question: question,
                variant: .any,
                rcode: .noError,
                sections: try AnswerSections(question: question, answers: []),
                lifetime: 60,
                source: .upstream,
                server: 0
            )
            state.cache.insert(answer, now: state.clocks.now())
        }

        private func resolver() -> Resolver {
            Resolver(
                routes: RouteTable(),
                standard: nil,
                policy: TTLPolicy(),
                cache: state.cache,
                clocks: state.clocks
            )
        }

        func exchange() { state.resolver = resolver() }

        func snapshotLoaded() async {}

        func reload() async -> ReloadReply? { ReloadReply(applied: false) }

        func check(_: (text: String, file: String)?) async -> ReloadReply {
            ReloadReply(applied: false)
        }
    }

    @Test(
        "an open `watch` or `dump` stream does not delay the release of a replaced resolver",
        arguments: [true, false]
    )
    @ServiceLoop
    func streams(isWatch: Bool) async throws {
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let daemon = try ReloadedDaemon(harness.daemon.state)
        let handler = ControlHandler(daemon)
        func reload() throws {
            #expect(daemon.former != nil)
            daemon.exchange()
            #expect(daemon.former == nil)
            throw CancellationError()
        }
        do {
            if isWatch {
                try await handler.watch(WatchRequest()) { _ in try reload() }
            } else {
                _ = try await handler.dump { _ in try reload() }
            }
            Issue.record("the stream sent nothing")
        } catch is CancellationError {
        }
    }
}
