// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Glibc

struct SetupServers {
    /// Addresses at which a DNS server answered; if no server answered, the first candidate.
    var servers: [ServerAddress]

    var obstacles: [SetupPlan.Obstacle] = []

    /// Name that the daemon answers locally (RFC 6761 §6.3).
    static let question = Name(labels: "localhost")

    /// Detects the addresses of the daemon, and checks that the daemon answers.
    ///
    /// - Parameter given: addresses from the operator; if empty, the addresses are detected.
    init(
        given: [ServerAddress],
        status: Result<StatusReply, Failure>,
        ask: (ServerAddress) -> Probe.Outcome = { Probe.ask($0, Self.question) },
        resolve: (ServerAddress, String) -> Probe.Outcome = Self.resolution
    ) {
        let known = (try? status.get()).map(Self.listeners) ?? []
        let candidates = !given.isEmpty ? given : !known.isEmpty ? known : Self.usual
        let outcomes = candidates.map(ask)
        servers = zip(candidates, outcomes).filter { Self.isAnswer($1) }.map(\.0)
        if servers.isEmpty {
            servers = Array(candidates.prefix(1))
            if let refusing = zip(candidates, outcomes).first(where: { Self.isRefusal($1) })?.0 {
                let source = Self.source(of: refusing)
                obstacles.append(
                    SetupPlan.Obstacle(
                        what: "the DNS server on \(refusing) refuses queries from this machine",
                        fix: "add \(source) to `allow` in httpdnsd.yaml, then run "
                            + "httpdnsctl reload"
                    )
                )
            } else {
                obstacles.append(
                    SetupPlan.Obstacle(
                        what: "no DNS server answers on "
                            + candidates.map(\.description).joined(separator: " or "),
                        fix: "start the daemon first: systemctl enable --now httpdnsd"
                    )
                )
            }
        } else if given.isEmpty, case .failure(let failure) = status {
            obstacles.append(
                SetupPlan.Obstacle(
                    what:
                        "a DNS server answers on \(servers[0]), but it may not be "
                        + "httpdnsd: \(failure.message)",
                    fix: failure.hint ?? "set the address of httpdnsd with --server"
                )
            )
        } else if let fault = Self.fault(of: servers[0], resolve) {
            obstacles.append(
                SetupPlan.Obstacle(
                    what: "the daemon on \(servers[0]) cannot resolve names: \(fault)",
                    fix: "httpdnsctl status shows the failing upstream and the error; "
                        + "--force continues despite this error"
                )
            )
        }
    }

    /// Returns an obstacle if the daemon runs now, but would not start at boot; otherwise nil.
    static func obstacle(
        at unit: MachineFacts.UnitState?,
        hasSocket: @autoclosure () -> Bool
    ) -> SetupPlan.Obstacle? {
        guard let unit, unit.isOnlyUntilBoot, !hasSocket() else { return nil }
        return SetupPlan.Obstacle(
            what: "httpdnsd.service does not start at boot: names would not resolve after a reboot",
            fix: "systemctl enable httpdnsd; --force ignores this problem"
        )
    }

    static func isSocketEnabled() -> Bool {
        let command = ["systemctl", "is-enabled", "--quiet", "httpdnsd.socket"]
        return Subprocess.run(command, within: .seconds(2))?.status == 0
    }

    private static let usual = ["127.0.0.1", "::1"].compactMap { ServerAddress($0) }

    static func listeners(of status: StatusReply) -> [ServerAddress] {
        var addresses: [ServerAddress] = []
        for listener in status.listeners where listener.transport == "udp" {
            guard let address = ServerAddress(listener.address)?.local,
                !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        let loopback = addresses.filter(\.address.isLoopback)
        let usable = loopback.isEmpty ? addresses : loopback
        return usable.filter { !$0.isIPv6 } + usable.filter(\.isIPv6)
    }

    /// Two domains: a route can send one of them to a source that most names do not use.
    private static let domains = ["example.com", "example.org"]

    static func resolution(by server: ServerAddress, below domain: String) -> Probe.Outcome {
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        guard let name = try? Name("httpdnsctl-\(label).\(domain)") else { return .silence }
        return Probe.ask(server, name, within: resolutionLimit)
    }

    /// Time limit of a query; longer than the 5 s within which the daemon replies.
    private static let resolutionLimit = Duration.seconds(6)

    /// Returns why the daemon does not resolve names after the changes; nil if it resolves names.
    ///
    /// Repeats a failed query for up to 10 s, because the servers of `from: network` change some
    /// seconds after the restart of a service.
    static func faultAfterwards(
        _ plan: SetupPlan,
        pause: (UInt32) -> Void = { usleep($0 * 1_000) },
        resolve: (ServerAddress, String) -> Probe.Outcome = Self.resolution
    ) -> String? {
        guard let server = plan.servers.first else { return nil }
        var fault: String?
        for wait: UInt32 in [plan.commands.isEmpty ? 1_000 : 4_000, 2_000, 4_000] {
            pause(wait)
            fault = Self.fault(of: server, resolve)
            if fault == nil { return nil }
        }
        return fault.map { "with the changes, the daemon on \(server) cannot resolve names: \($0)" }
    }

    private static func fault(
        of server: ServerAddress,
        _ resolve: (ServerAddress, String) -> Probe.Outcome
    ) -> String? {
        for domain in domains {
            switch resolve(server, domain) {
            case .answer(.noError, _), .answer(.nxDomain, _): continue
            case .answer(let code, _): return "\(code) for a name below \(domain)"
            case .silence: return "no answer for a name below \(domain)"
            case .fault(let fault): return fault
            }
        }
        return nil
    }

    private static let stub = ServerAddress(.v4(IPv4Address(value: 0x7F00_0035)))

    /// Returns why systemd-resolved does not forward queries to the daemon; nil if no fault is
    /// detected.
    ///
    /// Uses a name below `test.`, which the daemon answers locally (RFC 6761 §6.2).
    static func faultOfStub(
        before daemon: ServerAddress,
        ask: (ServerAddress, Name) -> Probe.Outcome = { Probe.ask($0, $1, within: resolutionLimit) }
    ) -> String? {
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        guard let name = try? Name("httpdnsctl-\(label).test"),
            case .answer(let code, _) = ask(daemon, name), code != .servFail
        else { return nil }
        let fault = "systemd-resolved does not forward queries to the daemon: \(stub.address) "
        return switch ask(stub, name) {
        case .silence: fault + "does not answer"
        case .answer(.servFail, _): fault + "answers SERVFAIL"
        // A fault such as ECONNREFUSED is acceptable: if the stub is disabled, programs use
        // nss-resolve instead.
        case .answer, .fault: nil
        }
    }

    private static func source(of server: ServerAddress) -> IPAddress {
        server.address.isLoopback ? server.address.loopbackSource : server.address
    }

    private static func isAnswer(_ outcome: Probe.Outcome) -> Bool {
        guard case .answer(.noError, let addresses) = outcome else { return false }
        return !addresses.isEmpty
    }

    private static func isRefusal(_ outcome: Probe.Outcome) -> Bool {
        if case .answer(.refused, _) = outcome { true } else { false }
    }
}

extension Name {
    init(labels text: StaticString) {
        do {
            try self.init("\(text)")
        } catch {
            preconditionFailure("\(text) is not a valid name: \(error)")
        }
    }
}
