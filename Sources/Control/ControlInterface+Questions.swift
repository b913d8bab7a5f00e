// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    static let questions = """
        # The answer to a query. source: as in Stats
        # origin: the vendor or upstream of the answer, also for a cached answer
        # server: origin/origin-server; deprecated
        # + origin-server: ?string             address or URL of the origin
        # records: record data of this type. explanation: RFC 8914
        # synthesized: true if DNS64 made the answer
        # + ttl-seconds: ?int                  the lowest TTL
        # + took-us: ?int                      absent for a predicted answer
        type Resolved (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: ?string,
          origin: ?string,
          records: []string,
          explanation: ?string,
          synthesized: ?bool
        )

        # stage: question, hosts, special, route, cache, fleet, vendors, upstreams, dns64
        # result: action of the stage
        type Step (stage: string, result: string, notes: []string)

        # place: file:line in the settings. pattern: the domain pattern that covers the name
        # silent: unresponsive vendors, which are skipped
        type RouteMatch (
          place: string,
          pattern: string,
          vendors: []string,
          silent: []string,
          upstreams: []string,
          fallback: (upstream, none)
        )

        # vendor: the vendor that bills the calls
        # + billable-calls: int                for a query now, if the first attempt succeeds
        # + next-seconds: ?int                 until the name is resolved again
        # + next-by: ?string                   refresh: a prefetch. query: the next query
        # + next-billable-calls: int           billable calls of the next resolution
        # units, money: of billable-calls, upper bound. money: absent if the price is unknown
        # + next-units: ?int, next-money: ?Cost      of next-billable-calls
        # + answer-units: ?int, answer-money: ?Cost  of the cached answer
        type QueryCost (vendor: ?string, units: ?int, money: ?Cost)

        # A request to a vendor, or a query to an upstream.
        # why: first: first attempt. next: after a failure. hedge: after no reply in time
        # fresh: again, on a new connection. repair: again, with another signature or form, as the
        # vendor requires
        # request: without the values of its parameters. reused: an open connection was used
        # + after-us: ?int                     from the start until the request was sent
        # + took-us: ?int                      absent while in flight
        # + connected-us, secured-us, first-octet-us: ?int  since sending
        # + after-ms, took-ms, connected-ms, secured-ms, first-octet-ms: ?float  deprecated
        type Attempt (
          name: string,
          server: string,
          why: (first, next, hedge, fresh, repair),
          request: ?string,
          reused: ?bool,
          status: ?int,
          result: string
        )

        # + left-out: int                      attempts and notes beyond the first 64
        # + billable-calls: int                upper bound
        # units, money: of the billable calls, upper bound. money: absent if the price is unknown
        type Report (
          answer: Resolved,
          attempts: []Attempt,
          notes: []string,
          units: ?int,
          money: ?Cost
        )

        # Returns how a client's query would be answered now, stage by stage. Sends nothing, unless
        # `live` is true. With `live`, the daemon resolves the name without the cache, and the reply
        # lists the attempts: this requires the rights of changing calls. The default type is A.
        # `answer` is absent if the name must first be resolved.
        method Explain(name: string, type: ?string, live: ?bool) -> (
          name: string,
          type: string,
          steps: []Step,
          route: ?RouteMatch,
          answer: ?Resolved,
          cost: QueryCost,
          live: ?Report
        )
        # Resolves names as for a client, which can cause billable calls: requires the rights of
        # changing calls. Without a type, resolves A and AAAA. A call with `more` has up to 1024
        # names, and one reply for each name, in order; the last reply has no name. Other
        # calls have up to 16 names and one reply.
        method Resolve(names: []string, type: ?string) -> (results: []Resolved)

        # Returns all cache entries, the oldest first, in a call with `more`: some entries
        # per reply, and no entries in the last reply. Requires the rights of changing calls.
        # total: number of entries at the time of the reply
        method Dump() -> (entries: []CachedEntry, total: int)
        """
}
