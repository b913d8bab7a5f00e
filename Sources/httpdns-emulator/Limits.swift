// SPDX-License-Identifier: Apache-2.0

/// What a client, or a file, may make us do at most.
enum Limits {
    /// Connections open at once; one more is closed unanswered.
    static let connections = 4096

    /// Octets of a request's head; a batch of 8 names of 253 octets is 4.2 kB of hex digits.
    static let headOctets = 32 * 1024

    /// Octets of a request's content.
    static let bodyOctets = 64 * 1024

    /// Octets read from a socket at once.
    static let readOctets = 4096

    /// Octets still read after a request was refused unread.
    static let drainedOctets = 1024 * 1024

    /// Octets of filler written to a socket at once.
    static let writeOctets = 64 * 1024

    /// Octets of a response a `huge` fault may ask for: 1 TiB, of which none is kept in memory.
    static let hugeOctets = 1 << 40

    /// Milliseconds a `delay` fault may ask for: one hour.
    static let delayMilliseconds = 3_600_000

    /// Faults in force at once.
    static let faults = 256

    /// Names counted one by one; calls for others are counted under `(other)`.
    static let countedNames = 10_000

    /// Aliases followed for one name.
    static let aliases = 16

    /// Octets of a zone or account file.
    static let fileOctets = 64 * 1024 * 1024

    /// Seconds a record may live: 2^31 - 1 (RFC 2181 §8).
    static let ttlSeconds = Int(Int32.max)
}
