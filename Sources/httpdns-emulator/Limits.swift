// SPDX-License-Identifier: Apache-2.0

/// Limits on what clients and files can use.
enum Limits {
    /// Open connections; further connections are closed without an answer.
    static let connections = 4096

    /// Octets of a request head; a batch of 8 names of 253 octets has 4.2 kB of hexadecimal digits.
    static let headOctets = 32 * 1024

    static let bodyOctets = 64 * 1024

    /// Octets of one read from a socket.
    static let readOctets = 4096

    /// Octets read after a request was refused.
    static let drainedOctets = 1024 * 1024

    /// Octets of one write of filler to a socket.
    static let writeOctets = 64 * 1024

    /// Octets of a response with a `huge` fault: 1 TiB, never held in memory.
    static let hugeOctets = 1 << 40

    /// Milliseconds of a `delay` fault: one hour.
    static let delayMilliseconds = 3_600_000

    static let faults = 256

    /// Names with their own counter; further names are counted as `(other)`.
    static let countedNames = 10_000

    /// Aliases followed for one name.
    static let aliases = 16

    static let fileOctets = 64 * 1024 * 1024

    /// TTL of a record in seconds: 2^31 - 1 (RFC 2181 §8).
    static let ttlSeconds = Int(Int32.max)
}
