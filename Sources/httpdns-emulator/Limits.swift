// SPDX-License-Identifier: Apache-2.0

enum Limits {
    /// Further connections are closed.
    static let connections = 4096

    /// Maximum length of a header section; 8 encrypted names of 253 octets need 4.2 kB.
    static let headOctets = 32 * 1024

    static let bodyOctets = 64 * 1024
    static let readOctets = 4096
    static let drainedOctets = 1024 * 1024
    static let writeOctets = 64 * 1024

    static let hugeOctets = 1 << 40

    static let delayMilliseconds = 3_600_000
    static let faults = 256

    /// Further names are counted as `(other)`.
    static let countedNames = 10_000

    static let aliases = 16
    static let fileOctets = 64 * 1024 * 1024

    /// Maximum TTL (RFC 2181 §8).
    static let ttlSeconds = Int(Int32.max)
}
