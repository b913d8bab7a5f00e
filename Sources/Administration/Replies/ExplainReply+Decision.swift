// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSCache
internal import DNSWire
internal import Frontend
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

extension ExplainReply {
    @ServiceLoop
    init(_ decision: Decision, _ origins: AnswerSourceRegistry, now: Instant) {
        let question = decision.query.question
        self.init(name: "\(question.name)", type: "\(question.type)")
        route = decision.match.map { ExplainedRoute($0, decision.plan) }
        answer = decision.answer(origins)
        cost = ExplainedCost(decision, vendorOfAnswer: answer?.origin)
        steps = [
            decision.questionStep, decision.hostsStep, decision.specialStep, decision.routeStep,
            decision.cacheStep(origins),
        ]
        guard decision.own == nil else { return }
        if decision.match.map({ !$0.route.vendors.isEmpty }) ?? false {
            if let fleet = decision.plan.fleet { steps.append(ExplainStep("fleet", fleet.text)) }
            steps.append(decision.vendorsStep(now))
        }
        steps.append(decision.upstreamsStep(now))
        if let prefix = decision.prefix {
            let text =
                "if the name has no IPv6 address, synthesized from IPv4 addresses with \(prefix)"
            steps.append(ExplainStep("dns64", text))
        }
    }
}

extension ExplainedRoute {
    fileprivate init(_ match: RouteTable.Match, _ plan: Decision.ResolutionPlan) {
        self.init(
            place: match.route.place,
            pattern: "\(match.pattern)",
            vendors: match.route.vendors.map(\.name),
            silent: plan.vendors.filter(\.isPassedOver).map(\.client.name),
            upstreams: match.route.upstreams?.members.map(\.name) ?? [],
            fallback: match.route.fallsBack ? "upstream" : "none"
        )
    }
}

extension ExplainedCost {
    @ServiceLoop
    fileprivate init(_ decision: Decision, vendorOfAnswer origin: String?) {
        self.init()
        units = 0
        if decision.asks {
            let probes = decision.trials.map { ($0, $0.maximumProbeUnits) }
            let asked = probes + (decision.payee.map { [($0, decision.units(of: $0))] } ?? [])
            vendor = asked.last?.0.name
            billableCalls = asked.count { $0.0.facts.isBillable }
            units = asked.reduce(0) { $0 + $1.1 }
            money = BilledCost(sum: asked.map { BilledCost($1, isSpent: false, $0.statistics) })
        }
        guard let hit = decision.hit else { return }
        if hit.source == .vendor,
            let client = decision.match?.route.vendors.first(where: { $0.name == origin })
        {
            let units = client.price.maximum(isEmpty: hit.isNegative)
            answerUnits = units
            answerMoney = BilledCost(units, isSpent: true, client.statistics)
        }
        nextSeconds = Int(clamping: hit.refreshIn ?? hit.remaining)
        nextBy = hit.refreshIn == nil ? "query" : "refresh"
        nextUnits = 0
        vendor = decision.plan.firstAsked?.name
        guard let next = decision.plan.firstAsked else { return }
        nextBillableCalls = next.facts.isBillable ? 1 : 0
        let units = decision.units(of: next)
        nextUnits = units
        nextMoney = BilledCost(units, isSpent: false, next.statistics)
    }
}

extension Decision {
    @ServiceLoop
    fileprivate func units(of client: VendorClient) -> UInt64 {
        client.maximumUnits(
            query.question.name,
            wanted: query.question.type == .aaaa ? .v6 : .v4,
            match?.route.options.families
        )
    }
}

// MARK: - Steps

extension Decision {
    fileprivate func answer(_ origins: AnswerSourceRegistry) -> Resolved? {
        if let hit { return Resolved(hit, origins) }
        let question = query.question
        if let own { return Resolved(own.answer, to: question, origins) }
        if let lastResort, lastResort.delay == nil {
            return Resolved(lastResort.entry, staleTTL: lastResort.ttl, origins)
        }
        return plan.refusal.map { Resolved($0, to: question, origins) }
    }

    fileprivate var questionStep: ExplainStep {
        let question = query.question
        let isOdd = question.type.isAddress && !question.name.isHostname
        return ExplainStep(
            "question",
            "\(question.name) IN \(question.type)",
            notes: isOdd ? ["not a host name: no vendor is queried"] : []
        )
    }

    fileprivate var hostsStep: ExplainStep {
        let isAnswer = own?.stage == .hosts
        return ExplainStep("hosts", isAnswer ? "answers: static address" : "no match")
    }

    fileprivate var specialStep: ExplainStep {
        let result =
            switch own?.stage {
            case .types: "answers: the query type is not a record type"
            case .specialNames: "answers: special name, never forwarded"
            case .nat64: "answers: the NAT64 prefix of this network (ipv4only.arpa)"
            case .suppressing: suppression
            case .hosts, nil: "no match"
            }
        return ExplainStep("special", result)
    }

    private var suppression: String {
        query.question.type == .a
            ? "answers: A is suppressed (answers.a)" : "answers: AAAA is suppressed (answers.aaaa)"
    }

    fileprivate var routeStep: ExplainStep {
        let notes = passedOver.map { "\($0.place): excluded by `except`" }
        guard let match else { return ExplainStep("route", "no matching route", notes: notes) }
        return ExplainStep("route", match.text, notes: notes)
    }

    fileprivate func cacheStep(_ origins: AnswerSourceRegistry) -> ExplainStep {
        guard let entry = hit ?? lastResort?.entry else {
            let result = isAsked ? "miss; waits for an equal query in flight" : "miss"
            return ExplainStep("cache", result)
        }
        let outcome = QueryOutcome(
            rcode: entry.rcode.rawValue,
            isEmpty: entry.isNegative && entry.rcode == .noError
        )
        var notes = ["from \(origins.name(entry.server)), \(entry.age) s ago"]
        if origins.isSynthesized(entry.server) { notes.append("synthesized by DNS64") }
        if outcome == .noData, entry.source == .vendor {
            notes.append("nodata: the vendor has addresses of the other family only")
        }
        if hit != nil {
            return ExplainStep(
                "cache",
                "hit: \(outcome.name), \(entry.remaining) s left, earlier hits: \(entry.hits)",
                notes: notes
            )
        }
        notes.append(
            lastResort?.delay.map { delay in
                "served with TTL \(lastResort?.ttl ?? 0) if no better answer arrives within "
                    + "\(Int(delay / .milliseconds(1))) ms"
            } ?? "served immediately: a recent failure is cached"
        )
        return ExplainStep(
            "cache",
            "stale: \(outcome.name), usable for \(entry.staleRemaining) s more",
            notes: notes
        )
    }

    @ServiceLoop
    fileprivate func vendorsStep(_ now: Instant) -> ExplainStep {
        guard !plan.vendors.isEmpty else {
            let why = "not queried: vendors get only A and AAAA queries for host names"
            return ExplainStep("vendors", why)
        }
        let notes = plan.vendors.map { "\($0.client.name): \($0.standing(now))" }
        if let emptyVendor = plan.emptyVendor {
            let why = "not queried: \(emptyVendor) had no address for the name recently"
            return ExplainStep("vendors", why, notes: notes)
        }
        let result =
            if !asks {
                "not queried now (order for later queries):"
            } else {
                payee != nil
                    ? "queried in this order"
                    : plan.vendors.contains(where: \.isPassedOver)
                        ? "no vendor responds: the next step answers without waiting"
                        : "no vendor is queried: all are unavailable"
            }
        return ExplainStep("vendors", result, notes: notes)
    }

    @ServiceLoop
    fileprivate func upstreamsStep(_ now: Instant) -> ExplainStep {
        if let refusal = plan.refusal {
            let why = refusal.explanation?.text ?? "answered locally"
            return ExplainStep("upstreams", "not queried: \(why)")
        }
        guard plan.asksUpstreams else {
            return ExplainStep("upstreams", "not queried: the route has `fallback: none`")
        }
        var notes = plan.upstreams.map { upstream in
            let server = upstream.server
            let label = server.isProtected ? "" : " (unprotected)"
            return "\(server.name) \(server.url)\(label): \(upstream.text(now))"
        }
        if plan.alignsHints {
            notes.append("address hints are replaced by the vendor's addresses, or removed")
        }
        let result =
            if plan.upstreams.isEmpty {
                (plan.absence.map { "\($0)" } ?? "no upstream is configured")
                    + ": if no other source answers, the reply is SERVFAIL"
            } else if !plan.upstreams.contains(where: \.isUsed) {
                "no upstream is queried: if no other source answers, the reply is SERVFAIL"
            } else if !asks {
                "not queried now (order for later queries):"
            } else {
                plan.vendors.isEmpty
                    ? "queried in this order" : "queried in this order if no vendor has addresses"
            }
        return ExplainStep("upstreams", result, notes: notes)
    }
}

// MARK: - Words

extension RouteTable.Match {
    fileprivate var text: String {
        var parts: [String] = []
        if !route.vendors.isEmpty {
            let names = route.vendors.map(\.name).joined(separator: ", ")
            parts.append("vendors \(names) (fallback: \(route.fallsBack ? "upstream" : "none"))")
        }
        if let upstreams = route.upstreams {
            parts.append("upstreams " + upstreams.members.map(\.name).joined(separator: ", "))
        }
        return place + ": " + parts.joined(separator: ", ")
    }

    fileprivate var place: String { "\(route.place) `\(pattern)`" }
}

extension Decision.Candidate {
    /// Returns the server and cost of a call to the vendor, or the reason why no call is made.
    @ServiceLoop
    fileprivate func standing(_ now: Instant) -> String {
        let (statistics, facts) = (client.statistics, client.facts)
        guard let rest = VendorRest(statistics, now: now) else {
            let price = facts.isBillable ? "a billable call" : "a call that is not billed"
            guard !isPassedOver else {
                return "not responding: queries do not wait for this vendor; "
                    + "at most one probe per second (\(price))"
            }
            let current = statistics.servers.first(where: \.isCurrent).map { "\($0.address)" }
            let label = facts.isProtected ? "" : " (unprotected)"
            return "\(current ?? "") first\(label), \(price)"
                + (facts.pairsFamilies ? " for A and AAAA" : "")
        }
        let why =
            switch rest.by {
            case .operator: "paused by an operator"
            case .account: "account refused (\(rest.error ?? ""))"
            case .limit: "all servers returned HTTP 429"
            case .budget: rest.error ?? "budget spent"
            }
        return "not queried: \(why)" + (rest.forSeconds.map { ", for \($0) s more" } ?? "")
    }
}

extension FleetExchange.Outlook {
    fileprivate var text: String {
        switch self {
        case .asked(let server, let wait):
            "Redis server \(server) is queried first; if another machine is calling the vendor, "
                + "the daemon waits up to \(Int(wait / .milliseconds(1))) ms for the answer"
        case .alone: "not queried: the Redis server is not used; `httpdnsctl status` shows why"
        case .notShared: "not queried: the route has `share: off`"
        case .exitUnknown:
            "not queried: the vendor has not yet reported this machine's address, which determines "
                + "the group (`fleet.group: auto`)"
        }
    }
}

extension UpstreamNumbers {
    fileprivate func unansweredText(_ condition: ServerCondition) -> String? {
        guard condition == .up, hasNeverAnswered, let lastError else { return nil }
        return "no answer so far (\(lastError)), queried without back-off"
    }
}

extension Instant {
    fileprivate func nextAttempt(_ now: Instant) -> String {
        let seconds = self.seconds(from: now)
        return "next attempt " + (seconds > 0 ? "in \(seconds) s" : "now")
    }
}

extension UpstreamGroup.Standing {
    @ServiceLoop
    fileprivate func text(_ now: Instant) -> String {
        if !isUsed, condition != .paused, let blocker {
            return blocker.isPaused
                ? "not used: unprotected upstreams do not replace the paused upstream "
                    + blocker.name
                : "used only while the encrypted upstream \(blocker.name) is down"
        }
        return server.numbers.unansweredText(condition) ?? condition.text(now)
    }
}

extension ServerCondition {
    fileprivate func text(_ now: Instant) -> String {
        switch self {
        case .up: "up"
        case .rests(let until, let error): "backing off (\(error)), \(until.nextAttempt(now))"
        case .loops: "forwards queries back to this daemon (forwarding loop)"
        case .paused: "paused by an operator"
        }
    }
}
