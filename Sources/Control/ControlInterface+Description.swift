// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// Description of the interface in the language of Varlink, with all message fields.
    ///
    /// Varlink forbids hyphens in field names. Therefore a type with many hyphenated field names is
    /// described as `object`, with a comment that lists the fields.
    package static let description = """
        # httpdnsd: inspect and control the daemon.
        #
        # Field names with a hyphen cannot be written in this language: they are listed in comments
        # as `+ name: type`. Clients ignore fields that they do not know; a call with an unknown
        # parameter is refused (InvalidParameter). Changing calls change the state of the daemon, or
        # can cost money; see Denied.
        interface io.httpdnsd.Control

        # ready: all vendors and upstreams are healthy, or paused by an operator while others answer
        # degraded: the daemon answers queries, and `problems` lists faults
        type State (ready, degraded, starting, stopping)

        # degraded: a vendor's preferred server or a server of an upstream does not respond, or the
        # budget is spent. down: no server responds, or the vendor refused the account or the
        # rate of calls. paused: by an operator
        type Health (up, degraded, down, paused)

        # transport: udp or tcp. origin: settings or socket-activation
        type Listener (address: string, transport: string, origin: string)

        \(vendors)

        # rests: backed off after failures; used only if all servers are backed off. loops: the
        # server forwards queries back to this daemon. paused: by an operator
        type UpstreamState (up, rests, loops, paused)

        # transport: udp, tcp, tls or https. reason: why the server is not queried
        # + for-seconds: ?int                  back-off left; 0: the next query may use the server
        # + latency-us: ?int                   smoothed
        # + latency-ms: ?float                 deprecated, as is `failures`
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

        # protected: encrypted and authenticated transport. validates: clients get the AD bit
        # + foreign-replies: ?int              messages that matched no query: forged or late
        # + latency-p50-us: ?int
        # + latency-ms-p50: ?float             deprecated, as is `failures`
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

        # File that preserves the cache across restarts.
        # + age-seconds: ?int                  since a daemon process last wrote the file
        # + last-error: ?string                of the last read or write
        type Snapshot (path: string, entries: int, octets: int)

        # + limit-octets: int
        type CacheUsage (entries: int, octets: int, snapshot: ?Snapshot)

        # Counts of network changes and of resumes from suspend.
        # + last-age-seconds: ?int             time since the last change or resume
        # Only in Status:
        # servers: DNS servers of the network. domains: routing domains of links, without servers
        #   while the link is down and its names are held
        # stack: families towards the Internet: v4, v6, dual, none. nat64: prefix in use, such as
        #   64:ff9b::/96
        # portal: there is a captive portal, or the captive portal mode is on
        # + portal-seconds: ?int               time until the mode ends
        # + nat64-from: ?string                upstream that returned the prefix, or settings
        # + nat64-age-seconds: ?int            time for which the prefix has been in use
        type NetworkStats (
          changes: int,
          resumes: int,
          servers: ?[]string,
          domains: ?[](domain: string, link: string, servers: []string),
          stack: ?string,
          nat64: ?string,
          portal: ?bool
        )

        # resting: suspended while all queries are logged or watched
        type AccelerationState (on, resting, off)

        # Answers from the kernel over loopback. answers: count since the start
        type Acceleration (state: AccelerationState, why: ?string, entries: int, answers: int)

        # alone: the Redis server does not answer, and this machine calls the vendors itself
        type FleetState (connected, alone, off)

        # Exchange of answers with other machines. since: RFC 3339
        # + last-error: ?string
        # members: machines of the fleet that were active in the last minute
        type FleetStatus (state: FleetState, server: ?string, since: ?string, members: ?int)

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
          fleet: ?FleetStatus,
          problems: []string
        )

        # Each table classifies all queries: its numbers sum to `total`.
        # + by-source: [string]int             cache, stale, vendor, upstream, local, ...
        # + by-rcode: [string]int              noerror, nodata, nxdomain, servfail, ...
        # + by-transport: [string]int          udp, tcp
        # + by-origin: ?[string]int            vendor in by-source, split into vendor and fleet
        # + early-fallback: int                part of upstream in by-source: answered before the
        #                                      vendors replied
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

        # route: file:line in the settings, "httpdnsctl prove", or empty for health probes.
        # domain: first domain of the route
        # names: number of names in billable calls
        # units: upper bound
        type RouteCost (route: string, domain: string, names: int, units: ?int)

        # protected: forged answers are detected
        # A lookup ends as one of successes, empty and unanswered. Calls are HTTP requests.
        # routes: billable-names by route. failed: failed calls
        # failures: deprecated; use failures-by-kind
        # dropped: addresses removed from answers: private, unusable
        # + failures-by-kind: [string]int
        # avoided: avoided calls by reason: cached, merged, paired, batched, fleet
        # cost: of the month. + client-address: ?string   as in VendorStatus
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
          budget: ?Budget,
          units: ?Units,
          cost: ?Cost
        )

        # failures: deprecated; use failures-by-kind
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

        # Refreshes of cached answers before they expire. held: not started, because all
        # vendors of the route were suspended
        # + over-budget: int                   not started: too many lookups in the last minute
        type RefreshStats (started: int, done: int, failed: int, held: int)

        # reads: of shared answers. led: calls of this machine for the fleet. waited: waits for the
        # call of another machine. published, received: answers. timeouts, errors: of the Redis
        # server. rejected: ignored values and messages
        # + not-found: int                     reads that found no usable answer
        # + waited-in-vain: int                part of waited: ended without an answer
        type FleetStats (
          reads: int,
          found: int,
          led: int,
          waited: int,
          published: int,
          received: int,
          timeouts: int,
          rejected: int,
          errors: int
        )

        # dropped: lines that were lost because the reader of the log was too slow
        type LogStats (dropped: int)

        # + rss-octets: int
        # + cpu-seconds: float
        type ProcessStats (descriptors: int, threads: int)

        # Returns all counters. `reset` (a changing call: see Denied) sets all counters, also
        # of Top, to zero after this reply, but not the spent budget. In a call with `more`:
        # + every-seconds: ?int                1 to 86400: a reply now and after each interval
        # + since-seconds: int                 time since the counters were zero
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
          fleet: ?FleetStats,
          log: ?LogStats,
          acceleration: ?Acceleration,
          process: ProcessStats
        )

        # Removes entries from the cache and returns their number. Exactly one of `all`, `name`,
        # `tree`, `negative`, `stale` and `source` is required; `type` requires `name`. With `soft`,
        # entries are marked stale instead. With `fleet`, which requires `all`, `tree` or `name`,
        # flushes all machines of the fleet. A changing call.
        method Flush(
          all: ?bool,
          name: ?string,
          type: ?string,
          tree: ?string,
          negative: ?bool,
          stale: ?bool,
          source: ?string,
          soft: ?bool,
          fleet: ?bool
        ) -> (removed: int, marked: ?int)

        # rcode: in lower case, `nodata` for NOERROR without records
        # protected: a forged answer would have been detected; absent for local answers
        # validated: AD bit. origin: the vendor or upstream, as in QueryEvent
        # source, server: deprecated; use origin and origin-server
        # synthesized: true if DNS64 made the answer
        # variant: DO and CD bits of the queries that get this answer, such as do=1 cd=0, or any
        # + origin-server: ?string             address or URL of the origin
        # + age-seconds: int                   since the answer was received
        # + ttl-seconds: int                   until the answer is stale; 0 if stale
        type CachedEntry (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: string,
          origin: ?string,
          protected: ?bool,
          validated: bool,
          synthesized: ?bool,
          stale: bool,
          hits: int,
          variant: string,
          records: []string
        )

        # Returns the cache entries of a name. Sends no query. NotFound if there are none.
        method Lookup(name: string, type: ?string) -> (entries: []CachedEntry)

        \(questions)

        # calls: upper bound of the billable calls. excess: calls that may belong to other names
        type NameCost (
          name: string,
          vendor: string,
          calls: int,
          excess: int,
          units: ?int,
          route: string,
          domain: string
        )

        # A query that was answered.
        # rcode: in lower case, `nodata` for NOERROR without records. source: as in Stats
        # origin: the vendor or upstream of the answer, also for a cached answer
        # server: origin/origin-server; deprecated
        # + origin-server: ?string             address or URL of the origin
        # fallback: result of the vendor if an upstream answered: empty, failed, or early (no reply
        #   yet)
        # flags: truncated, merged, refreshed, unprotected, synthesized (by DNS64)
        # + time-us: ?int                      since 1970
        # + time-ms: int                       deprecated
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

        # Counts for a name or a client. misses: queries that the cache could not answer
        # + fallback-empty, fallback-failed: int
        # + slowest-us: int
        type QueryCount (name: string, queries: int, misses: int)

        # Entries with the highest values. `count` is at most 1024, by default 10. `kind` is one of
        #   cost                               NameCost, since the counters were zero
        #   names, misses, fallback, clients   QueryCount, of recent queries
        #   slow                               QueryEvent, of recent queries
        # total: names in billable calls, or queries, including entries that are not listed
        # + since-seconds: int
        # Requires the rights of changing calls.
        method Top(kind: string, count: ?int) -> (kind: string, total: int, entries: []object)

        \(bills)

        # Streams answered queries that match the parameters, in a call with `more`: until `count`
        # queries are sent or the client disconnects. The first reply has no queries and is sent
        # immediately. Requires the rights of changing calls.
        # source: as in Stats, or a vendor or upstream. rcode: as in QueryEvent
        # + slower-us: ?int
        # + slower-ms: ?float                  deprecated
        # missed: number of queries, matching or not, that the reply lacks: too many to send, or
        #   overwritten in the buffer
        method Watch(
          name: ?string,
          type: ?string,
          source: ?string,
          rcode: ?string,
          client: ?string,
          count: ?int
        ) -> (queries: []QueryEvent, missed: int)

        \(changes)

        # Versions of the daemon and of its libraries.
        method Version() -> (
          version: string,
          swift: string,
          libcurl: string,
          openssl: string,
          libyaml: string
        )

        # No match.
        error NotFound (what: string)

        # A parameter has the right type, but a value that the method does not accept.
        error InvalidArgument (argument: string, reason: string)

        # Changing calls are allowed to root, to the daemon's user and to the group of the socket.
        error Denied (reason: string)

        # The call was valid but failed.
        error Failed (reason: string)

        """
}
