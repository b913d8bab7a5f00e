// SPDX-License-Identifier: Apache-2.0

/// The ranges of the options, where they are not obvious from the row itself.
enum SettingsLimits {
    /// Items of a list that names no limit of its own; the length of the file bounds it too.
    static let items = 100_000

    /// Drop-ins of one file.
    static let dropIns = 256

    /// Addresses listened on.
    static let listeners = 1...32

    /// Places where metrics are served.
    static let scrapePoints = 0...8

    /// Queries a second of one client.
    static let queriesPerSecond = 1...1_000_000

    /// Calls to one vendor a second.
    static let callsPerSecond = 1...1_000_000

    /// Threads that answer from the cache.
    static let workers = 1...256

    /// Answers that the kernel is given.
    static let accelerated = 16...1_048_576

    /// Servers of one vendor.
    static let servers = 1...16

    /// Addresses of one upstream.
    static let upstreamAddresses = 0...16

    /// Vendors of one route.
    static let vendorsPerRoute = 0...8

    /// Upstreams of one route.
    static let upstreamsPerRoute = 0...16

    /// Patience with one server; a client gets its answer within 5 s in total.
    static let timeout: ClosedRange<Duration> = .milliseconds(100)...(.seconds(5))

    /// Failures in a row before the next server becomes the first choice.
    static let retries = 1...100

    /// How long one server is waited for alone.
    static let hedge: ClosedRange<Duration> = .milliseconds(10)...(.seconds(5))

    /// How long the first server is left alone after a switch.
    static let returnToPrimary: ClosedRange<Duration> = .seconds(1)...(.seconds(86_400))

    /// How long what a vendor said about its servers is used at most.
    static let refresh: ClosedRange<Duration> = .seconds(60)...(.seconds(7 * 86_400))

    /// Calls to one vendor under way.
    static let concurrentCalls = 1...1024

    /// Calls to one vendor a day.
    static let callsPerDay = 1...1_000_000_000

    /// Parameters of custom resolution; their length is bounded, too.
    static let parameters = 0...100

    /// Memory of the cache, in octets.
    static let cacheSize = (1 << 20)...(64 << 30)

    /// Time to live of records: RFC 2181 §8 allows 68 years, which nobody wants to wait for.
    static let ttl: ClosedRange<Duration> = .zero...(.seconds(7 * 86_400))

    /// Time to live of negative answers: RFC 2308 §5 proposes at most three hours.
    static let negativeTTL: ClosedRange<Duration> = .zero...(.seconds(3 * 3600))

    /// How long after its time an answer may be given: RFC 8767 §5 proposes one to three days.
    static let staleWindow: ClosedRange<Duration> = .seconds(1)...(.seconds(3 * 86_400))

    /// How long a client waits before it gets a stale answer: RFC 8767 §5 proposes 1.8 s.
    static let staleAfter: ClosedRange<Duration> = .zero...(.milliseconds(1_800))

    /// Time to live of a stale answer: RFC 8767 §4 wants 30 s, and above 0.
    static let staleTTL: ClosedRange<Duration> = .seconds(1)...(.seconds(30))

    /// The part of its time after which an answer is asked for anew, in per cent.
    static let prefetchAt = 50...95

    /// Look-ups of vendors in a minute.
    static let prefetchBudget = 0...6_000

    /// Names that are kept.
    static let prefetchNames = 0...1_000

    /// Files of hosts; each is watched.
    static let hostsFiles = 0...32

    /// Addresses of one name.
    static let hostAddresses = 1...64

    /// Domains whose servers are tried; each is looked at for each answer.
    static let probes = 0...256

    /// Ports of TCP.
    static let port = 1...65_535

    /// Names that may have private addresses; each is looked at for each answer.
    static let rebindingExceptions = 0...1000

    /// The longest path, in octets (`PATH_MAX` without its NUL).
    static let pathOctets = 4095

    /// The longest path of a Unix socket, in octets (`sun_path` without its NUL).
    static let socketPathOctets = 107
}
