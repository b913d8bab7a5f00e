// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Where the daemon listens, and whether it answers there.
struct SetupServers {
    /// Those that a machine can be pointed at, IPv4 first.
    var servers: [ServerAddress]

    /// What is in the way of that.
    var obstacles: [SetupPlan.Obstacle] = []

    /// What every daemon of ours answers by itself, so that nobody else is asked (RFC 6761 §6.3).
    static let question = Name(labels: "localhost")

    /// Finds the servers.
    ///
    /// - Parameters:
    ///   - given: those that the user named; none if they are to be found.
    ///   - status: what the daemon says, or why it says nothing.
    ///   - ask: asks one whether it answers.
    ///   - resolve: asks one for a name that no cache has.
    init(
        given: [ServerAddress],
        status: Result<StatusReply, Failure>,
        ask: (ServerAddress) -> Bool = Self.answers,
        resolve: (ServerAddress) -> Probe.Outcome = Self.resolution
    ) {
        let known = (try? status.get()).map(Self.listeners) ?? []
        let candidates = !given.isEmpty ? given : !known.isEmpty ? known : Self.usual
        servers = candidates.filter(ask)
        if servers.isEmpty {
            servers = Array(candidates.prefix(1))
            obstacles.append(
                SetupPlan.Obstacle(
                    what: "no DNS server answers on "
                        + candidates.map(\.description).joined(separator: " or "),
                    fix: "start the daemon first: systemctl enable --now httpdnsd"
                )
            )
        } else if given.isEmpty, case .failure(let failure) = status {
            obstacles.append(
                SetupPlan.Obstacle(
                    what:
                        "a DNS server answers on \(servers[0]), but it cannot be told whether it is "
                        + "httpdnsd: \(failure.message)",
                    fix: failure.hint ?? "name it with --server"
                )
            )
        } else if let fault = Self.fault(resolve(servers[0])) {
            obstacles.append(
                SetupPlan.Obstacle(
                    what: "the daemon on \(servers[0]) runs, but cannot resolve names: \(fault)",
                    fix: "httpdnsctl status names the upstream that fails, and why; "
                        + "--force goes on without"
                )
            )
        }
    }

    /// Where a daemon with the default settings listens.
    private static let usual = ["127.0.0.1", "::1"].compactMap { ServerAddress($0) }

    /// Where programs of this machine reach a daemon over UDP: on loopback if it listens there.
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

    /// Asks a server for a name that does not exist, so no cache has the answer: an upstream gives it.
    static func resolution(by server: ServerAddress) -> Probe.Outcome {
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        guard let name = try? Name("httpdnsctl-\(label).example.com") else { return .silence }
        return Probe.ask(server, name, within: resolutionLimit)
    }

    /// How long a resolution is waited for: the 5 s after which the daemon answers in any case, and 1 s.
    private static let resolutionLimit = Duration.seconds(6)

    /// Why an outcome is no resolution; nil if it is one, as NXDOMAIN is.
    private static func fault(_ outcome: Probe.Outcome) -> String? {
        switch outcome {
        case .answer(.noError, _), .answer(.nxDomain, _): nil
        case .answer(let code, _): "\(code) for a name below example.com"
        case .silence: "no answer for a name below example.com"
        case .fault(let fault): fault
        }
    }

    /// Whether a server answers a question that causes no traffic.
    static func answers(_ server: ServerAddress) -> Bool {
        guard case .answer(.noError, let addresses) = Probe.ask(server, question) else {
            return false
        }
        return !addresses.isEmpty
    }
}

extension Name {
    /// A name of labels that are known to be right.
    init(labels text: StaticString) {
        do {
            try self.init("\(text)")
        } catch {
            preconditionFailure("\(text) is no name: \(error)")
        }
    }
}
