// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// The interface in Varlink's definition language, as `GetInterfaceDescription` returns it.
    ///
    /// That language has no hyphen in field names and our JSON has (settings, `--json` and metrics
    /// share one spelling), so hyphenated fields stand in comments, and a type that consists mostly
    /// of them is an `object`.  What is declared is exact, so `varlinkctl introspect` and code
    /// generators read this text; see <doc:Protocol>.
    package static let description = """
        # httpdnsd: see what it does, and change what it holds.
        #
        # Field names with a hyphen cannot be written in this language. They are listed in comments
        # as `+ name: type`, and are sent as written there. Clients pass over fields they do not
        # know; a call with a parameter that is not declared here is refused (InvalidParameter).
        interface io.httpdnsd.Control

        # ready: answers, and everything it asks is healthy; an operator's pause is healthy too
        # degraded: answers, and something in `problems` needs a look
        type State (ready, degraded, starting, stopping)

        # down: measured, or the vendor said so. paused: not asked, because an operator said so
        type Health (up, degraded, down, paused)

        # transport: udp or tcp. origin: settings or socket-activation
        type Listener (address: string, transport: string, origin: string)

        # failed: calls that failed. failures: the same; goes, as it is a table in Stats
        # + latency-p50-us: ?int               median time of a call
        # + latency-ms-p50: ?float             the same; goes
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type VendorServer (
          address: string,
          current: bool,
          state: Health,
          calls: int,
          failures: int,
          failed: ?int
        )

        # operator: with Pause. account: the vendor refuses it, one trial passes when the time is
        # over. limit: all its servers said 429. budget: that of the day is spent
        type Reason (operator, account, limit, budget)

        # Why a vendor is not asked.
        # + for-seconds: ?int                  how long still; absent: until Resume
        type Rest (by: Reason, error: ?string)

        # within: the next call is made. spent: it is not, the fallback answers. exceeded: it is
        type BudgetState (within, spent, exceeded)

        # beyond: calls wanted beyond the budget, made or not
        # + calls-per-day, spent-today: int    a day of UTC
        # + day-ends-seconds: int
        type Budget (beyond: int, state: BudgetState)

        # How the addresses of a vendor's servers are kept up to date.
        # + last-age-seconds: ?int             since they came last
        type Refresh (count: int, failures: int, error: ?string)

        # calls: HTTP requests sent
        # + billable-calls, connections-opened, connections-reused: int
        # protected: a forged answer is detected, by TLS or by the vendor's protocol
        # + clock-skew-seconds: ?int           how far the vendor's clock is ahead of ours
        # + refused-clock-skew-seconds: ?int   the same, if it is too far to be believed
        type VendorStatus (
          name: string,
          kind: string,
          channel: string,
          protected: bool,
          state: Health,
          rest: ?Rest,
          servers: []VendorServer,
          calls: int,
          budget: ?Budget,
          refresh: ?Refresh
        )

        # rests: left alone after failures, unless all others are too. loops: asks this daemon
        # paused: by an operator
        type UpstreamState (up, rests, loops, paused)

        # transport: udp, tcp, tls or https. reason: why it is left alone
        # + for-seconds: ?int                  how long still; 0: the next query may try it
        # + latency-us: ?int                   smoothed
        # + latency-ms: ?float                 the same; goes, as failures does
        # + connections-opened, connections-reused: int
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type UpstreamServer (
          url: string,
          transport: string,
          protected: bool,
          state: UpstreamState,
          reason: ?string,
          queries: int,
          successes: int,
          failures: int,
          failed: ?int
        )

        # protected: nobody on the way can read or change its answers. validates: its AD is passed on
        # + foreign-replies: ?int              messages that answered no query: forged, or late
        # + latency-p50-us: ?int
        # + latency-ms-p50: ?float             the same; goes, as failures does
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type UpstreamStatus (
          name: string,
          url: string,
          protected: bool,
          validates: bool,
          state: Health,
          calls: int,
          failures: int,
          failed: ?int,
          servers: []UpstreamServer
        )

        # The file in which the cache survives a restart.
        # + age-seconds: ?int                  since it was written, by whichever daemon
        # + last-error: ?string                of the latest attempt to read or write it
        type Snapshot (path: string, entries: int, octets: int)

        # + limit-octets: int
        type CacheUsage (entries: int, octets: int, snapshot: ?Snapshot)

        # How often the network was another one, and how often the machine had slept.
        # + last-age-seconds: ?int             since the latest of either
        type NetworkStats (changes: int, resumes: int)

        # resting: for the time being, as somebody wants to see every query
        type AccelerationState (on, resting, off)

        # Whether the kernel answers who asks over loopback. answers: since the start
        type Acceleration (state: AccelerationState, why: ?string, entries: int, answers: int)

        # One screen: is all well, and if not, why.
        # + uptime-seconds: int
        # + resolv-conf: (points-here: ?bool, by: ?string, nameservers: []string)
        method Status() -> (
          state: State,
          version: string,
          pid: int,
          listeners: []Listener,
          vendors: []VendorStatus,
          upstreams: []UpstreamStatus,
          cache: CacheUsage,
          network: NetworkStats,
          acceleration: ?Acceleration,
          problems: []string
        )

        # Every table divides all queries: its numbers sum to `total`.
        # + by-source: [string]int             cache, stale, vendor, upstream, local, ...
        # + by-rcode: [string]int              noerror, nodata, nxdomain, servfail, ..., none
        # + by-transport: [string]int          udp, tcp
        type QueryStats (total: int)

        # + p50-us, p90-us, p99-us, p999-us, max-us: int
        type Latency (count: int)

        # + limit-octets, index-octets, negative-entries: int
        type CacheStats (
          entries: int,
          octets: int,
          hits: int,
          misses: int,
          insertions: int,
          evictions: int,
          expired: int,
          snapshot: ?Snapshot
        )

        # route: file:line in the settings. domain: its first. names: in billable calls
        type RouteCost (route: string, domain: string, names: int)

        # protected: a forged answer is detected
        # A look-up ends as one of successes, empty and unanswered. Calls are HTTP requests.
        # routes: divides billable-names. failed: calls that failed
        # failures: the same as failures-by-kind; goes, as it is a number in Status
        # dropped: addresses left out of answers: private, unusable
        # + failures-by-kind: [string]int
        # avoided: calls that were not needed: cached, merged, paired, batched
        # + billable-calls, billable-names, connections-opened, connections-reused: int
        type VendorStats (
          name: string,
          protected: bool,
          lookups: int,
          successes: int,
          empty: int,
          unanswered: int,
          calls: int,
          routes: []RouteCost,
          failed: ?int,
          failures: [string]int,
          dropped: ?[string]int,
          avoided: [string]int,
          budget: ?Budget
        )

        # failures: the same as failures-by-kind; goes
        # + failures-by-kind: [string]int
        # + tcp-retries, foreign-replies, connections-opened, connections-reused: int
        type UpstreamStats (
          name: string,
          protected: bool,
          queries: int,
          successes: int,
          failed: ?int,
          failures: [string]int
        )

        # + in-flight: int
        type MissStats (merged: int, dropped: int)

        # Answers asked for anew before their time is over: begun, and how that ended; or not begun.
        # + over-budget: int                   too many in the last minute
        type RefreshStats (started: int, done: int, failed: int, held: int)

        # + rss-octets: int
        # + cpu-seconds: float
        type ProcessStats (descriptors: int, threads: int)

        # All counters. With `reset` (a changing call: see Denied) they start from zero after this
        # reply, those of Top too; what is spent of a budget does not. A call with `more` may have
        # another parameter:
        # + every-seconds: ?int                1 to 86400: a reply now, and then each such time
        # + since-seconds: int                 how long they have been counting
        method Stats(reset: ?bool) -> (
          queries: QueryStats,
          latency: (client: Latency, cache: Latency, vendor: Latency, upstream: Latency),
          cache: CacheStats,
          vendors: []VendorStats,
          upstreams: []UpstreamStats,
          packets: [string]int,
          misses: MissStats,
          refresh: RefreshStats,
          network: NetworkStats,
          acceleration: ?Acceleration,
          process: ProcessStats
        )

        # Removes entries of the cache and tells how many. Exactly one of `all`, `name`, `tree`,
        # `negative`, `stale` and `source`; `type` goes with `name`. With `soft` they are marked
        # stale instead: asked for anew, and given if nobody answers. Removing nothing is no error.
        # A changing call.
        method Flush(
          all: ?bool,
          name: ?string,
          type: ?string,
          tree: ?string,
          negative: ?bool,
          stale: ?bool,
          source: ?string,
          soft: ?bool
        ) -> (removed: int, marked: ?int)

        # rcode: in lower case, `nodata` for NOERROR without records
        # protected: a forged answer would have been detected; absent for our own. validated: AD
        # origin: the vendor or upstream, as in QueryEvent. source, server: the same; go
        # + origin-server: ?string             its address or URL
        # + age-seconds: int                   since the answer came
        # + ttl-seconds: int                   until it is stale; 0 if it is
        type CachedEntry (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: string,
          origin: ?string,
          protected: ?bool,
          validated: bool,
          stale: bool,
          hits: int,
          variant: string,
          records: []string
        )

        # What the cache holds of a name. Causes no traffic. Nothing held: NotFound.
        method Lookup(name: string, type: ?string) -> (entries: []CachedEntry)

        \(questions)

        # calls: billable ones, at most. excess: how many of them may be of other names
        type NameCost (
          name: string,
          vendor: string,
          calls: int,
          excess: int,
          route: string,
          domain: string
        )

        # A query that was answered.
        # rcode: in lower case, `nodata` for NOERROR without records. source: as in Stats
        # origin: the vendor or upstream that gave the answer, also if the cache kept it
        # server: origin/origin-server; goes
        # + origin-server: ?string             its address or URL
        # fallback: why an upstream was asked in a vendor's place, empty or failed
        # flags: truncated, merged, refreshed, unprotected
        # + time-us: ?int                      since 1970
        # + time-ms: int                       the same; goes
        # + took-us: int
        type QueryEvent (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: ?string,
          origin: ?string,
          fallback: ?string,
          transport: string,
          client: string,
          flags: []string
        )

        # Queries for a name, or of a client. misses: those that the cache could not answer
        # + fallback-empty, fallback-failed: int
        # + slowest-us: int
        type QueryCount (name: string, queries: int, misses: int)

        # The entries with the most of something. At most 1024, or 10. `kind` is one of
        #   cost                               NameCost, since the counters began
        #   names, misses, fallback, clients   QueryCount, of the queries that are still known
        #   slow                               QueryEvent, likewise
        # total: names in billable calls or queries, of those that are not listed too
        # + since-seconds: int
        # All but `cost` show what others ask, and are allowed as changing calls are.
        method Top(kind: string, count: ?int) -> (kind: string, total: int, entries: []object)

        # Queries as they are answered, all or those that fit the parameters, in a call with `more`:
        # replies until `count` queries were told or the client has gone, the first, without queries,
        # at once. Allowed as changing calls.
        # source: as in Stats, or a vendor or upstream. rcode: as in QueryEvent
        # + slower-us: ?int
        # + slower-ms: ?float                  the same; goes
        # missed: queries that are not told, as there were too many
        method Watch(
          name: ?string,
          type: ?string,
          source: ?string,
          rcode: ?string,
          client: ?string,
          count: ?int
        ) -> (queries: []QueryEvent, missed: int)

        \(changes)

        # The daemon and the libraries it runs with.
        method Version() -> (
          version: string,
          swift: string,
          libcurl: string,
          openssl: string,
          libyaml: string
        )

        # Nothing matches.
        error NotFound (what: string)

        # A parameter of the right type with a value the method does not take.
        error InvalidArgument (argument: string, reason: string)

        # Changing calls are for root, the daemon's own user and the group of the socket.
        error Denied (reason: string)

        # The call was right and went wrong.
        error Failed (reason: string)

        """
}
