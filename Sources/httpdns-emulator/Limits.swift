// SPDX-License-Identifier: Apache-2.0

/// Limits on what clients and files can use.
enum Limits {
    /// Further connections are closed.
    static let connections = 4096

    /// 8 names of 253 octets have 4.2 kB of hexadecimal digits.
    static let headOctets = 32 * 1024

    static let bodyOctets = 64 * 1024

    /// Per read.
    static let readOctets = 4096

    /// Read after a refused request.
    static let drainedOctets = 1024 * 1024

    /// Of filler, per write.
    static let writeOctets = 64 * 1024

    /// Never held in memory.
    static let hugeOctets = 1 << 40

    static let delayMilliseconds = 3_600_000

    static let faults = 256

    /// Further names are counted as `(other)`.
    static let countedNames = 10_000

    static let aliases = 16

    static let fileOctets = 64 * 1024 * 1024

    /// RFC 2181 §8.
    static let ttlSeconds = Int(Int32.max)
}
