// SPDX-License-Identifier: Apache-2.0

/// Ranges of the options that are not obvious from their rows.
enum SettingsLimits {
    /// Items of a list without a limit of its own; the size of the file limits it, too.
    static let items = 100_000

    static let dropIns = 256

    static let listeners = 1...32

    static let scrapePoints = 0...8

    static let queriesPerSecond = 1...1_000_000

    static let callsPerSecond = 1...1_000_000

    static let workers = 1...256

    /// Answers in the kernel.
    static let accelerated = 16...1_048_576

    static let servers = 1...16

    static let upstreamAddresses = 0...16

    static let vendorsPerRoute = 0...8

    static let upstreamsPerRoute = 0...16

    /// Time limit of one server; a client gets its answer within 5 s in total.
    static let timeout: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))

    static let retries = 1...100

    /// Time before a hedged request.
    static let hedge: ClosedRange<Duration> = .milliseconds(10)...(.seconds(5))

    /// Time before the first server is tried again after a switch.
    static let returnToPrimary: ClosedRange<Duration> = .seconds(1)...(.seconds(86_400))

    /// Maximum lifetime of a server list from a vendor.
    static let refresh: ClosedRange<Duration> = .seconds(60)...(.seconds(7 * 86_400))

    static let concurrentCalls = 1...1024

    static let callsPerDay = 1...1_000_000_000

    /// Parameters of custom resolution; their total length is limited, too.
    static let parameters = 0...100

    /// Memory of the cache, in octets.
    static let cacheSize = (1 << 20)...(64 << 30)

    /// TTL of positive answers: RFC 2181 §8 allows 68 years, which is too long in practice.
    static let ttl: ClosedRange<Duration> = .zero...(.seconds(7 * 86_400))

    /// TTL of negative answers: RFC 2308 §5 proposes at most three hours.
    static let negativeTTL: ClosedRange<Duration> = .zero...(.seconds(3 * 3600))

    /// Time after expiry during which an answer may be served: RFC 8767 §5 proposes one to three
    /// days.
    static let staleWindow: ClosedRange<Duration> = .seconds(1)...(.seconds(3 * 86_400))

    /// Time before a client gets a stale answer: RFC 8767 §5 proposes 1.8 s.
    static let staleAfter: ClosedRange<Duration> = .zero...(.milliseconds(1_800))

    /// TTL of a stale answer: RFC 8767 §4 recommends 30 s, and requires more than 0.
    static let staleTTL: ClosedRange<Duration> = .seconds(1)...(.seconds(30))

    /// Percentage of the TTL after which an answer is refreshed.
    static let prefetchAt = 50...95

    /// Vendor lookups per minute for prefetch.
    static let prefetchBudget = 0...6_000

    static let prefetchNames = 0...1_000

    /// Hosts files; each file is watched.
    static let hostsFiles = 0...32

    static let hostAddresses = 1...64

    /// Domains to measure; each answer is compared with all of them.
    static let probes = 0...256

    static let port = 1...65_535

    /// Names that may resolve to private addresses; each answer is compared with all of them.
    static let rebindingExceptions = 0...1000

    /// Maximum length of a path, in octets (`PATH_MAX` without its NUL).
    static let pathOctets = 4095

    /// Maximum length of the path of a Unix socket, in octets (`sun_path` without its NUL).
    static let socketPathOctets = 107
}
