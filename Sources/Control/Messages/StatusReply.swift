// SPDX-License-Identifier: Apache-2.0

/// The reply to `Status`: one screen that tells whether all is well, and if not, why.
package struct StatusReply: Codable, Sendable, Equatable {
    /// What the daemon as a whole is doing.
    package var state: State

    /// The version of the daemon.
    package var version: String

    /// Its process.
    package var pid: Int

    /// How long it has been running.
    package var uptimeSeconds: Int

    /// Where it listens.
    package var listeners: [ListenerStatus] = []

    /// The vendors, in the order of the settings.
    package var vendors: [VendorStatus] = []

    /// The upstream resolvers, in the order of the settings.
    package var upstreams: [UpstreamStatus] = []

    /// How full the cache is.
    package var cache = CacheUsage()

    /// The network that the machine is in.
    package var network = NetworkStats()

    /// Whether the kernel answers in the daemon's place.
    package var acceleration: AccelerationStatus?

    /// Who answers the programs of this machine.
    package var resolvConf = ResolvConf()

    /// Why the state is `degraded`, one sentence each; empty otherwise.
    package var problems: [String] = []

    /// The state of the daemon.
    package enum State: String, Codable, Sendable {
        case ready, degraded, starting, stopping
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case state, version, pid
        case uptimeSeconds = "uptime-seconds"
        case listeners, vendors, upstreams, cache, network, acceleration
        case resolvConf = "resolv-conf"
        case problems
    }

    /// Makes a status without listeners, vendors and upstreams.
    package init(state: State, version: String, pid: Int, uptimeSeconds: Int) {
        self.state = state
        self.version = version
        self.pid = pid
        self.uptimeSeconds = uptimeSeconds
    }
}

/// One address the daemon answers on.
package struct ListenerStatus: Codable, Sendable, Equatable {
    /// The address and port, such as `127.0.0.1:53`.
    package var address: String

    /// `udp` or `tcp`.
    package var transport: String

    /// Where the socket comes from: `settings` or `socket-activation`.
    package var origin: String

    /// Makes a listener of its parts.
    package init(address: String, transport: String, origin: String) {
        self.address = address
        self.transport = transport
        self.origin = origin
    }
}

/// Whether something can be asked.
package enum HealthStatus: String, Codable, Sendable {
    /// It answers, or has not been asked.
    case up
    /// Some of its servers do not answer.
    case degraded
    /// It does not answer, or refuses to.
    case down
    /// It is not asked, because an operator said so.
    case paused
}

/// How full the cache is.
package struct CacheUsage: Codable, Sendable, Equatable {
    /// Answers held.
    package var entries: UInt64 = 0

    /// Memory used, in octets.
    package var octets: UInt64 = 0

    /// Memory it may use, in octets.
    package var limitOctets: UInt64 = 0

    /// Where it survives a restart; nil if it does not.
    package var snapshot: SnapshotStatus?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case entries, octets
        case limitOctets = "limit-octets"
        case snapshot
    }

    /// Makes the usage of a cache.
    package init(entries: UInt64 = 0, octets: UInt64 = 0, limitOctets: UInt64 = 0) {
        self.entries = entries
        self.octets = octets
        self.limitOctets = limitOctets
    }
}

/// What `/etc/resolv.conf` says.
package struct ResolvConf: Codable, Sendable, Equatable {
    /// Whether its first name server is one of our listeners, or a local resolver that asks one of
    /// them; nil if it could not be read.
    package var pointsHere: Bool?

    /// The local resolver between programs and the daemon, such as `systemd-resolved`; nil if there is
    /// none, or it does not ask the daemon.
    package var by: String?

    /// Its name servers, in order.
    package var nameservers: [String]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case pointsHere = "points-here"
        case by, nameservers
    }

    /// Makes the finding.
    package init(pointsHere: Bool? = nil, nameservers: [String] = []) {
        self.pointsHere = pointsHere
        self.nameservers = nameservers
    }
}
