// SPDX-License-Identifier: Apache-2.0

package struct StatusReply: Codable, Sendable, Equatable {
    package var state: State
    package var version: String
    package var pid: Int
    package var uptimeSeconds: Int
    package var listeners: [ListenerStatus] = []
    package var vendors: [VendorStatus] = []
    package var upstreams: [UpstreamStatus] = []
    package var cache = CacheUsage()
    package var network = NetworkStats()
    package var acceleration: AccelerationStatus?

    /// Nil in the reply of an older daemon.
    package var fleet: FleetStatus?

    package var resolvConf = ResolvConf()

    package var problems: [String] = []

    package enum State: String, Codable, Sendable {
        case ready, degraded, starting, stopping
    }

    package init(state: State, version: String, pid: Int, uptimeSeconds: Int) {
        self.state = state
        self.version = version
        self.pid = pid
        self.uptimeSeconds = uptimeSeconds
    }
}

package struct ListenerStatus: Codable, Sendable, Equatable {
    package var address: String
    package var transport: String

    package var origin: String

    package init(address: String, transport: String, origin: String) {
        self.address = address
        self.transport = transport
        self.origin = origin
    }
}

package enum HealthStatus: String, Codable, Sendable {
    /// Answers, or is unused.
    case up
    case degraded
    case down
    case paused
}

package struct CacheUsage: Codable, Sendable, Equatable {
    package var entries: UInt64 = 0
    package var octets: UInt64 = 0
    package var limitOctets: UInt64 = 0
    package var snapshot: SnapshotStatus?

    package init(entries: UInt64 = 0, octets: UInt64 = 0, limitOctets: UInt64 = 0) {
        self.entries = entries
        self.octets = octets
        self.limitOctets = limitOctets
    }
}

package struct ResolvConf: Codable, Sendable, Equatable {
    /// True if the first nameserver is the daemon, or a local resolver that forwards to the daemon.
    package var pointsHere: Bool?

    package var by: String?

    /// True while a setup by `httpdnsctl setup apply` is in force; nil in an older daemon's reply.
    package var isSetUp: Bool?

    package var nameservers: [String]

    /// True if `httpdnsctl setup apply` wrote the current `resolv.conf`.
    package var isWrittenBySetup: Bool?

    package init(pointsHere: Bool? = nil, nameservers: [String] = []) {
        self.pointsHere = pointsHere
        self.nameservers = nameservers
    }
}
