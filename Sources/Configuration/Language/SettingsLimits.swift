// SPDX-License-Identifier: Apache-2.0

enum SettingsLimits {
    /// Items of a list without a limit of its own.
    static let items = 100_000

    /// Patterns in `domains` and `except` of all routes; a route without a pattern counts as one.
    ///
    /// A pattern takes up to 500 octets, and a reload has two sets of settings.
    static let patterns = 100_000

    static let dropIns = 256

    static let listeners = 1...32

    static let scrapePoints = 0...8

    static let queriesPerSecond = 1...1_000_000

    static let callsPerSecond = 1...1_000_000

    static let workers = 1...256

    static let accelerated = 16...1_048_576

    static let servers = 1...16

    static let upstreamAddresses = 0...16

    static let vendorsPerRoute = 0...8

    static let upstreamsPerRoute = 0...16

    /// Timeout of one server; a client gets its answer within 5 s.
    static let timeout: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))

    static let retries = 1...100

    static let hedge: ClosedRange<Duration> = .milliseconds(10)...(.seconds(5))

    /// Less than the 3 s that the vendors have.
    static let fallbackAfter: ClosedRange<Duration> = .milliseconds(50)...(.milliseconds(2_900))

    static let returnToPrimary: ClosedRange<Duration> = .seconds(1)...(.seconds(86_400))

    /// Lifetime of a vendor's server list.
    static let refresh: ClosedRange<Duration> = .seconds(60)...(.seconds(7 * 86_400))

    static let concurrentCalls = 1...128

    /// Calls in flight of all vendors together.
    ///
    /// A hedged call has two transfers of about 42 KiB: together 11 MiB of `MemoryMax`.
    static let concurrentCallsTogether = 128

    static let callsPerDay = 1...1_000_000_000

    /// Units of a day or a month.
    static let units = 1...1_000_000_000_000

    static let freeUnits = 0...1_000_000_000_000

    /// Units of one billed item.
    static let weight = 0...1_000

    /// Number of parameters for custom resolution by Alibaba; their total length is limited, too.
    static let parameters = 0...100

    /// In octets.
    static let cacheSize = (1 << 20)...(64 << 30)

    /// RFC 2181 §8 allows 68 years, too long in practice.
    static let ttl: ClosedRange<Duration> = .zero...(.seconds(7 * 86_400))

    /// RFC 2308 §5 proposes at most three hours.
    static let negativeTTL: ClosedRange<Duration> = .zero...(.seconds(3 * 3600))

    /// RFC 8767 §5 proposes one to three days.
    static let staleWindow: ClosedRange<Duration> = .seconds(1)...(.seconds(3 * 86_400))

    /// RFC 8767 §5 proposes 1.8 s.
    static let staleAfter: ClosedRange<Duration> = .zero...(.milliseconds(1_800))

    /// RFC 8767 §4 recommends 30 s, and requires more than 0.
    static let staleTTL: ClosedRange<Duration> = .seconds(1)...(.seconds(30))

    static let prefetchAt = 50...95

    /// Vendor lookups per minute.
    static let prefetchBudget = 0...6_000

    static let prefetchNames = 0...1_000

    /// Each file is watched.
    static let hostsFiles = 0...32

    static let hostAddresses = 1...64

    /// Each queried name is compared with every probe.
    static let probes = 0...256

    static let port = 1...65_535

    /// Each answer is compared with every exception.
    static let rebindingExceptions = 0...1000

    /// In octets: `PATH_MAX` without its NUL.
    static let pathOctets = 4095

    /// In octets: `sun_path` without its NUL.
    static let socketPathOctets = 107
}
