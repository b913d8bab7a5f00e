// SPDX-License-Identifier: Apache-2.0

/// Reply to `Status`: an overview of the daemon's state and problems.
package struct StatusReply: Codable, Sendable, Equatable {
    /// State of the daemon.
    package var state: State

    /// Version of the daemon.
    package var version: String

    /// Process ID of the daemon.
    package var pid: Int

    /// Time since the daemon started.
    package var uptimeSeconds: Int

    /// Addresses on which the daemon listens.
    package var listeners: [ListenerStatus] = []

    /// Vendors in the order of the settings.
    package var vendors: [VendorStatus] = []

    /// Upstreams in the order of the settings.
    package var upstreams: [UpstreamStatus] = []

    /// Usage of the cache.
    package var cache = CacheUsage()

    /// Network events.
    package var network = NetworkStats()

    /// State of kernel acceleration.
    package var acceleration: AccelerationStatus?

    /// Content of `/etc/resolv.conf`.
    package var resolvConf = ResolvConf()

    /// Reasons for the state `degraded`, one sentence each; empty otherwise.
    package var problems: [String] = []

    /// The state of the daemon.
    package enum State: String, Codable, Sendable {
        case ready, degraded, starting, stopping
    }

    /// Creates a status without listeners, vendors and upstreams.
    package init(state: State, version: String, pid: Int, uptimeSeconds: Int) {
        self.state = state
        self.version = version
        self.pid = pid
        self.uptimeSeconds = uptimeSeconds
    }
}

/// Address on which the daemon listens.
package struct ListenerStatus: Codable, Sendable, Equatable {
    /// Address and port, such as `127.0.0.1:53`.
    package var address: String

    /// `udp` or `tcp`.
    package var transport: String

    /// Origin of the socket: `settings` or `socket-activation`.
    package var origin: String

    /// Creates a listener from its parts.
    package init(address: String, transport: String, origin: String) {
        self.address = address
        self.transport = transport
        self.origin = origin
    }
}

/// Health of a vendor, an upstream or one of their servers.
package enum HealthStatus: String, Codable, Sendable {
    /// It answers, or has not been used yet.
    case up
    /// Some of its servers do not answer.
    case degraded
    /// It does not answer, or refuses to.
    case down
    /// An operator has paused it.
    case paused
}

/// Usage of the cache.
package struct CacheUsage: Codable, Sendable, Equatable {
    /// Cached answers.
    package var entries: UInt64 = 0

    /// Memory of cached answers, in octets.
    package var octets: UInt64 = 0

    /// Limit of `octets`.
    package var limitOctets: UInt64 = 0

    /// State of the cache file; nil if there is none.
    package var snapshot: SnapshotStatus?

    /// Creates the usage of a cache.
    package init(entries: UInt64 = 0, octets: UInt64 = 0, limitOctets: UInt64 = 0) {
        self.entries = entries
        self.octets = octets
        self.limitOctets = limitOctets
    }
}

/// Content of `/etc/resolv.conf`.
package struct ResolvConf: Codable, Sendable, Equatable {
    /// True if the first nameserver is a listener of the daemon, or a local resolver that forwards
    /// to one; nil if the file could not be read.
    package var pointsHere: Bool?

    /// Local resolver that forwards to the daemon, such as `systemd-resolved`; nil if there is
    /// none.
    package var by: String?

    /// Nameservers in order.
    package var nameservers: [String]

    /// Creates the content from its parts.
    package init(pointsHere: Bool? = nil, nameservers: [String] = []) {
        self.pointsHere = pointsHere
        self.nameservers = nameservers
    }
}
