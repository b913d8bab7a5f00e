// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// The part of ``description`` about single questions and the cache as a whole.
    static let questions = """
        # The answer to a question. source: as in Stats
        # origin: the vendor or upstream that gave it, also if the cache kept it
        # server: origin/origin-server; goes
        # + origin-server: ?string             its address or URL
        # records: the data of those of that type. explanation: RFC 8914
        # + ttl-seconds: ?int                  the lowest
        # + took-us: ?int                      absent of an answer that was only foretold
        type Resolved (
          name: string,
          type: string,
          rcode: string,
          source: string,
          server: ?string,
          origin: ?string,
          records: []string,
          explanation: ?string
        )

        # stage: question, hosts, special, route, cache, vendors, upstreams. Of each, what it says
        type Step (stage: string, result: string, notes: []string)

        # place: file:line in the settings. pattern: the one of its domains that covers the name
        # silent: vendors that nobody waits for now, as nothing is heard of them
        type RouteMatch (
          place: string,
          pattern: string,
          vendors: []string,
          silent: []string,
          upstreams: []string,
          fallback: (upstream, none)
        )

        # vendor: whose calls they are
        # + billable-calls: int                by a client's question now, if the first try does
        # + next-seconds: ?int                 until the name is asked for anew
        # + next-by: ?string                   refresh: if it is in demand. query: the first then
        # + next-billable-calls: int           what that costs
        type Cost (vendor: ?string)

        # A request to a vendor, or a query to an upstream.
        # first; next: after a failure. hedge: after a silence. fresh: on a new connection
        # repair: signed or written otherwise, as the vendor wants it
        # request: values of parameters are left out. reused: of the connection
        # + after-us: ?int                     from the start until it was sent
        # + took-us: ?int                      absent while it is under way
        # + connected-us, secured-us, first-octet-us: ?int  since it was sent
        # + after-ms, took-ms, connected-ms, secured-ms, first-octet-ms: ?float  the same; go
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
        # + billable-calls: int                caused by it, at most
        type Report (answer: Resolved, attempts: []Attempt, notes: []string)

        # How a client's question is answered now, as the stages say that decide it. Causes no
        # traffic, unless `live` is true: then it is asked past the cache, and `live` of the reply
        # tells how that went. That is allowed as changing calls are. The type is A if none is
        # given. `answer` is absent if it has to be asked for.
        method Explain(name: string, type: ?string, live: ?bool) -> (
          name: string,
          type: string,
          steps: []Step,
          route: ?RouteMatch,
          answer: ?Resolved,
          cost: Cost,
          live: ?Report
        )

        # Asks for names as a client does, and costs what that costs: allowed as changing calls are.
        # Without a type, for A and AAAA. In a call with `more`, of up to 1024 names, 16 at a time,
        # each name has a reply, in the order of the names, and the last reply has none; else all of
        # up to 16 names come in one.
        method Resolve(names: []string, type: ?string) -> (results: []Resolved)

        # All that the cache holds, the oldest first, in a call with `more`: some entries a reply,
        # and in the last one none. Allowed as changing calls are, as it shows what others ask.
        # total: how many entries there are at that moment
        method Dump() -> (entries: []CachedEntry, total: int)
        """
}
