// SPDX-License-Identifier: Apache-2.0

/// Limits of the values in the settings.
package enum SettingsLimits {
    static let items = 100_000

    /// Maximum patterns in `domains` and `except` of all routes.
    ///
    /// A route without patterns counts as one pattern.
    ///
    /// A pattern takes up to 500 octets.
    static let patterns = 100_000

    static let dropIns = 256
    static let listeners = 1...32
    static let scrapePoints = 0...8
    static let queriesPerSecond = 1...1_000_000
    static let callsPerSecond = 1...1_000_000
    static let workers = 1...256

    /// Maximum number of workers of all addresses together.
    ///
    /// A worker takes up to 192 KiB, and `TasksMax=` of the unit limits the number of threads.
    static let allWorkers = 128

    /// Returns the number of workers for each of `count` new addresses.
    ///
    /// - Parameter others: workers of the other addresses.
    package static func workers(_ wanted: Int, forEachOf count: Int, besides others: Int) -> Int {
        max(1, min(wanted, (allWorkers - others) / max(count, 1)))
    }
    static let accelerated = 16...1_048_576
    static let servers = 1...16
    static let fleetServers = 1...16
    static let fleetSecretOctets = 32...1_024

    static let fleetWait: ClosedRange<Duration> = .zero...(.seconds(2))

    static let fleetTimeout: ClosedRange<Duration> = .milliseconds(1)...(.seconds(1))
    static let upstreamAddresses = 0...16
    static let vendorsPerRoute = 0...8
    static let upstreamsPerRoute = 0...16

    /// At most 5 s, because the daemon answers each query within 5 s.
    static let timeout: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))

    static let retries = 1...100
    static let hedge: ClosedRange<Duration> = .milliseconds(10)...(.seconds(5))

    /// Below the time limit of 3 s for the vendor calls of a query.
    static let fallbackAfter: ClosedRange<Duration> = .milliseconds(50)...(.milliseconds(2_900))

    static let returnToPrimary: ClosedRange<Duration> = .seconds(1)...(.seconds(86_400))
    static let refresh: ClosedRange<Duration> = .seconds(60)...(.seconds(7 * 86_400))
    static let concurrentCalls = 1...128

    /// A hedged call has two HTTP requests, which take about 42 KiB each, so 128 calls take 11 MiB.
    package static let concurrentCallsTogether = 128

    static let callsPerDay = 1...1_000_000_000
    static let units = 1...1_000_000_000_000
    static let freeUnits = 0...1_000_000_000_000
    static let weight = 0...1_000
    static let parameters = 0...100

    /// Octets.
    static let cacheSize = (1 << 20)...(32 << 30)

    /// At most 7 days; RFC 2181 §8 allows 68 years.
    static let ttl: ClosedRange<Duration> = .zero...(.seconds(7 * 86_400))

    /// At most 3 h, as in RFC 2308 §5.
    static let negativeTTL: ClosedRange<Duration> = .zero...(.seconds(3 * 3600))

    /// RFC 8767 §5 proposes one to three days.
    static let staleWindow: ClosedRange<Duration> = .seconds(1)...(.seconds(3 * 86_400))

    /// RFC 8767 §5 proposes 1.8 s.
    static let staleAfter: ClosedRange<Duration> = .zero...(.milliseconds(1_800))

    /// At most 30 s, as in RFC 8767 §4; 0 is not allowed.
    static let staleTTL: ClosedRange<Duration> = .seconds(1)...(.seconds(30))

    static let prefetchAt = 50...95
    static let prefetchBudget = 0...6_000
    static let prefetchNames = 0...1_000
    static let hostsFiles = 0...32
    static let hostAddresses = 1...64

    /// At most 256, because the name of each answer is compared with all entries.
    static let probes = 0...256

    static let port = 1...65_535

    /// Each answer is compared with all exceptions.
    static let rebindingExceptions = 0...1000

    /// `PATH_MAX` without its NUL.
    static let pathOctets = 4095

    /// `sun_path` without its NUL.
    static let socketPathOctets = 107
}
