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
    init(
        given: [ServerAddress],
        status: Result<StatusReply, Failure>,
        ask: (ServerAddress) -> Bool = Self.answers
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
