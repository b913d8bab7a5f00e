// SPDX-License-Identifier: Apache-2.0

/// Limits of the communication with Redis.
package enum FleetLimits {
    package static let valueOctets = 4_096

    /// Maximum octets of a host's name; longer names are cut.
    package static let machineOctets = 64

    /// Maximum octets of a string in a reply; a longer string ends the connection.
    ///
    /// A string within this limit is discarded if it is too long for a value.
    static let skippedOctets = 1 << 20

    static let replyOctets = 512 << 10

    /// Maximum elements of a reply, in all nested lists together.
    static let replyElements = 256

    /// Maximum octets of a protocol line, such as an error.
    static let lineOctets = 1_024

    /// Maximum commands in flight on a connection.
    static let commands = 512

    static let outboxOctets = 512 << 10

    /// Maximum octets of messages that a host reads per second.
    static let messageRate = 4 << 20

    /// Maximum octets of messages that a host reads in a burst.
    static let messageBurst = 1 << 20

    /// Octets that the rate limit adds to each message, because short messages also cost time.
    static let messageCost = 512

    /// Time limit for opening a connection, including TLS, authentication and the first commands.
    static let connect: Duration = .seconds(1)

    /// Time limit of a write, and of a command without a waiting client.
    static let command: Duration = .seconds(1)

    /// Maximum age of a command without a reply; after this time, the connection is replaced.
    static let silence: Duration = .seconds(2)

    /// If a connection has lasted this time, `retry` starts again at the lower bound.
    static let lasting: Duration = .seconds(10)

    /// Time between attempts to connect; doubles from the lower to the upper bound.
    static let retry: ClosedRange<Duration> = .milliseconds(100)...(.seconds(2))

    /// Time between probes of a silent Redis server.
    static let probe: Duration = .milliseconds(500)

    /// Number of consecutive timeouts after which clients no longer wait for Redis.
    ///
    /// The oldest command without a reply must also be at least `shortSilence` old.
    static let timeouts = 3
    static let shortSilence: Duration = .milliseconds(100)

    /// An answer is accepted if it is older than a known answer with the same key by at most this
    /// number of milliseconds.
    static let disorder: Int64 = 4_000

    static let heartbeat: Duration = .seconds(20)

    /// Time from the start of a connection to the second heartbeat.
    static let secondHeartbeat: Duration = .seconds(1)

    /// Seconds for which a host counts as a member after the last heartbeat.
    static let memberSeconds: Int64 = 60

    /// Lifetime of the lease; a vendor call takes at most 3 s.
    package static let lease: Duration = .seconds(4)

    /// Longest wait for the answer of another host during a refresh.
    package static let refreshWait: Duration = .seconds(1)

    /// Maximum milliseconds by which the time of a value or flush can be ahead of the Redis clock.
    static let clockTolerance: Int64 = 2_000

    /// Maximum milliseconds by which the Redis clock can go back, for example after a failover.
    static let clockStep: Int64 = 60_000

    /// Seconds for which an answer without addresses is shared.
    package static let negativeSeconds: UInt32 = 5

    /// Maximum number of recently used names.
    package static let names = 4_096

    /// Maximum number of flushes that Redis stores, and that each host stores.
    static let flushes = 64

    /// Seconds for which Redis stores flushes: the longest TTL plus the longest stale window.
    static let flushSeconds: Int64 = 10 * 86_400

    /// Maximum age in milliseconds of a flush message; older messages are rejected as replays.
    static let flushAge: Int64 = 60_000

    /// Minimum number of calls that a host claims in advance, if the budget has enough left.
    static let callsOfBlock: UInt64 = 64

    /// Pause before a host claims again from a budget that is already fully claimed.
    static let claimPause: Duration = .seconds(1)

    static let confirmation: Duration = .seconds(60)

    static let firstConfirmation: Duration = .seconds(3)

    /// Maximum number of hosts; a larger number in a reply of Redis is reduced.
    package static let mostMembers = 1_000_000

    package static let machines = 256
}
