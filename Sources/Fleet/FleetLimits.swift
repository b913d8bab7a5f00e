// SPDX-License-Identifier: Apache-2.0

/// Limits of the exchange with the engine.
package enum FleetLimits {
    /// Maximum octets of a value and of a message.
    package static let valueOctets = 4_096

    /// Minimum octets of the secret.
    package static let secretOctets = 32...1_024

    /// Maximum octets of a machine's name; longer names are cut.
    package static let machineOctets = 64

    /// Maximum octets of a string above the limit for values; such a string is read and discarded.
    static let skippedOctets = 1 << 20

    /// Maximum octets of a reply, and its maximum number of elements in all levels.
    static let replyOctets = 512 << 10
    static let replyElements = 256

    /// Maximum octets of a line of the protocol, such as an error.
    static let lineOctets = 1_024

    /// Maximum commands in flight on a connection; 512 commands with values have at most 2 MiB.
    static let commands = 512

    /// Maximum octets that wait to be written on a connection.
    static let outboxOctets = 512 << 10

    /// Octets of messages that a machine reads per second and at once; each message counts as
    /// `messageCost` octets more.
    static let messageRate = 4 << 20
    static let messageBurst = 1 << 20
    static let messageCost = 512

    /// Time limit of a connection, including TLS, authentication and the first commands.
    static let connect: Duration = .seconds(1)

    /// Time limit of a write, and of a command for which no client waits.
    static let command: Duration = .seconds(1)

    /// Time without any reply to a command after which the connection is replaced.
    static let silence: Duration = .seconds(2)

    /// Time between attempts to connect; the first of two values doubles up to the second.
    ///
    /// A connection that lasted for `lasting` resets the time.
    static let lasting: Duration = .seconds(10)
    static let retry: ClosedRange<Duration> = .milliseconds(100)...(.seconds(2))

    /// Time between probes of an engine that did not answer in time.
    static let probe: Duration = .milliseconds(500)

    /// Timeouts in a row after which no client waits for the engine, if it has been silent for a
    /// time.
    static let timeouts = 3
    static let shortSilence: Duration = .milliseconds(100)

    /// Milliseconds by which a value may be older than the newest one: machines that called the
    /// vendor at the same time share their answers in any order.
    static let disorder: Int64 = 4_000

    /// Time between signs of life of a machine.
    static let heartbeat: Duration = .seconds(20)

    /// Seconds after its last sign of life for which a machine is a member.
    static let memberSeconds: Int64 = 60

    /// Time for which one machine leads the call for a name; vendors answer within 3 s.
    package static let lease: Duration = .seconds(4)

    /// Time to wait for the leading machine if no client waits, or if the client has an answer.
    package static let refreshWait: Duration = .seconds(1)

    /// Milliseconds by which a value may be ahead of the engine's clock.
    static let clockTolerance: Int64 = 2_000

    /// Milliseconds by which the engine's clock may go back: after a fail-over, it can be behind.
    static let clockStep: Int64 = 60_000

    /// Seconds for which an answer without addresses is shared.
    package static let negativeSeconds: UInt32 = 5

    /// Names that messages of other machines fill: those used most recently.
    package static let names = 4_096

    /// Maximum number of flushes that the engine and a machine remember.
    static let flushes = 64

    /// Seconds for which the engine remembers flushes: the longest TTL and stale window.
    static let flushSeconds: Int64 = 10 * 86_400

    /// Age in milliseconds above which a flush is not carried out again.
    static let flushAge: Int64 = 60_000

    /// Wait before another claim of a budget that is at its end.
    static let claimPause: Duration = .seconds(1)

    /// Interval at which a machine confirms its claims of a budget.
    static let confirmation: Duration = .seconds(60)

    /// Maximum number of machines that the engine can report.
    package static let mostMembers = 1_000_000

    /// Machines that are shown by name as the source of answers.
    package static let machines = 256
}
