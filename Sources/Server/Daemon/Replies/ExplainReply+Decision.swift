// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

extension ExplainReply {
    /// A decision in words.
    @ServiceLoop
    init(_ decision: Decision, _ origins: Origins, now: ContinuousClock.Instant) {
        let question = decision.query.question
        self.init(name: "\(question.name)", type: "\(question.type)")
        route = decision.match.map { ExplainedRoute($0, decision.course) }
        answer = decision.answer(origins)
        cost = ExplainedCost(decision)
        steps = [
            decision.questionStep, decision.hostsStep, decision.specialStep, decision.routeStep,
            decision.cacheStep(origins),
        ]
        guard decision.own == nil else { return }
        if decision.match.map({ !$0.route.vendors.isEmpty }) ?? false {
            steps.append(decision.vendorsStep(now))
        }
        steps.append(decision.upstreamsStep(now))
    }
}

extension ExplainedRoute {
    fileprivate init(_ match: RouteTable.Match, _ course: Decision.Course) {
        self.init(
            place: match.route.place,
            pattern: match.pattern.text,
            vendors: match.route.vendors.map(\.name),
            silent: course.vendors.filter(\.isPassedOver).map(\.client.name),
            upstreams: match.route.upstreams?.members.map(\.name) ?? [],
            fallback: match.route.fallsBack ? "upstream" : "none"
        )
    }
}

extension ExplainedCost {
    /// What the next question costs, and what the one after that.
    @ServiceLoop
    fileprivate init(_ decision: Decision) {
        self.init()
        if decision.asks {
            let asked = decision.trials + (decision.payee.map { [$0] } ?? [])
            vendor = asked.last?.name
            billableCalls = asked.count { $0.facts.isBillable }
        }
        guard let hit = decision.hit else { return }
        nextSeconds = Int(clamping: hit.refreshIn ?? hit.remaining)
        nextBy = hit.refreshIn == nil ? "query" : "refresh"
        let next = decision.course.firstAsked
        vendor = next?.name
        nextBillableCalls = next?.facts.isBillable ?? false ? 1 : 0
    }
}

// MARK: - Steps

extension Decision {
    /// What is answered; nil if somebody has to be asked for it.
    fileprivate func answer(_ origins: Origins) -> Resolved? {
        if let hit { return Resolved(hit, origins) }
        let question = query.question
        if let own { return Resolved(own.answer, to: question, origins) }
        if let lastResort, lastResort.patience == nil {
            return Resolved(lastResort.entry, staleTTL: lastResort.ttl, origins)
        }
        return course.refusal.map { Resolved($0, to: question, origins) }
    }

    fileprivate var questionStep: ExplainStep {
        let question = query.question
        let isOdd = question.type.isAddress && !question.name.isHostname
        return ExplainStep(
            "question",
            "\(question.name) IN \(question.type)",
            notes: isOdd ? ["not the name of a host: no vendor is asked"] : []
        )
    }

    fileprivate var hostsStep: ExplainStep {
        let isAnswer = own?.stage == .hosts
        return ExplainStep("hosts", isAnswer ? "answers: the name is written down" : "no match")
    }

    fileprivate var specialStep: ExplainStep {
        let result =
            switch own?.stage {
            case .types: "answers: the type asks for something other than records of a name"
            case .specialNames: "answers: the name never leaves the machine"
            case .suppressing: "answers: AAAA is suppressed (answers.aaaa)"
            case .hosts, nil: "no match"
            }
        return ExplainStep("special", result)
    }

    fileprivate var routeStep: ExplainStep {
        let notes = passedOver.map { "\($0.place) has it in `except`" }
        guard let match else { return ExplainStep("route", "none covers the name", notes: notes) }
        return ExplainStep("route", match.text, notes: notes)
    }

    fileprivate func cacheStep(_ origins: Origins) -> ExplainStep {
        guard let entry = hit ?? lastResort?.entry else {
            let result = isAsked ? "miss; it is being asked: waits for that" : "miss"
            return ExplainStep("cache", result)
        }
        let outcome = QueryOutcome(
            rcode: entry.rcode.rawValue,
            isEmpty: entry.isNegative && entry.rcode == .noError
        )
        var notes = ["from \(origins.name(entry.server)), \(entry.age) s ago"]
        if outcome == .noData, entry.source == .vendor {
            notes.append("nodata: the vendor has addresses of the other family only")
        }
        if hit != nil {
            return ExplainStep(
                "cache",
                "hit: \(outcome.name), \(entry.remaining) s left, \(entry.hits) hits",
                notes: notes
            )
        }
        notes.append(
            lastResort?.patience.map { patience in
                "given with TTL \(lastResort?.ttl ?? 0) if nothing better comes within "
                    + "\(Int(patience / .milliseconds(1))) ms"
            } ?? "given at once: a failure is remembered"
        )
        return ExplainStep(
            "cache",
            "stale: \(outcome.name), to be had for \(entry.staleRemaining) s more",
            notes: notes
        )
    }

    @ServiceLoop
    fileprivate func vendorsStep(_ now: ContinuousClock.Instant) -> ExplainStep {
        guard !course.vendors.isEmpty else {
            return ExplainStep("vendors", "not asked: they know addresses of hosts only")
        }
        let notes = course.vendors.map { "\($0.client.name): \($0.standing(now))" }
        if let emptyVendor = course.emptyVendor {
            let why = "not asked: \(emptyVendor) has just had nothing for the name"
            return ExplainStep("vendors", why, notes: notes)
        }
        let result =
            if !asks {
                "not asked now"
            } else {
                payee != nil
                    ? "asked in this order"
                    : course.vendors.contains(where: \.isPassedOver)
                        ? "nobody waits for any of them" : "none is asked: all are left alone"
            }
        return ExplainStep("vendors", result, notes: notes)
    }

    @ServiceLoop
    fileprivate func upstreamsStep(_ now: ContinuousClock.Instant) -> ExplainStep {
        if let refusal = course.refusal {
            let why = refusal.explanation?.text ?? "answered here"
            return ExplainStep("upstreams", "not asked: \(why)")
        }
        guard course.asksUpstreams else {
            return ExplainStep("upstreams", "not asked: the route has no fallback")
        }
        var notes = course.upstreams.map { server, condition in
            let label = server.isProtected ? "" : " (unprotected)"
            return "\(server.name) \(server.url)\(label): \(condition.text(now))"
        }
        if course.alignsHints { notes.append("hints in the records are replaced by our addresses") }
        let result =
            if course.upstreams.isEmpty {
                "none is configured: SERVFAIL"
            } else if !asks {
                "not asked now"
            } else {
                course.vendors.isEmpty
                    ? "asked in this order" : "asked in this order if no vendor has addresses"
            }
        return ExplainStep("upstreams", result, notes: notes)
    }
}

// MARK: - Words

extension RouteTable.Match {
    /// A route by its place and pattern, and whom it names.
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

    /// Where the settings have it.
    fileprivate var place: String { "\(route.place) `\(pattern.text)`" }
}

extension RoutePattern {
    /// The pattern as the settings write it.
    var text: String {
        let form: DomainPattern.Form =
            switch self {
            case .suffix: .suffix
            case .exact: .exact
            case .below: .below
            }
        return "\(DomainPattern(form, domain))"
    }
}

extension Decision.Candidate {
    /// Whether it is asked, and whom of it, or why not.
    @ServiceLoop
    fileprivate func standing(_ now: ContinuousClock.Instant) -> String {
        let (statistics, facts) = (client.statistics, client.facts)
        guard let rest = VendorRest(state, dayEndsIn: statistics.dayEndsIn, now: now) else {
            let price = facts.isBillable ? "a billable call" : "a call that is not billed"
            guard !isPassedOver else {
                return "nothing is heard of it, so nobody waits for it; "
                    + "it is tried once a second beside that, \(price)"
            }
            let current = statistics.servers.first(where: \.isCurrent).map { "\($0.address)" }
            let label = facts.isProtected ? "" : " (unprotected)"
            return "\(current ?? "") first\(label), \(price)"
                + (facts.pairsFamilies ? " for A and AAAA" : "")
        }
        let why =
            switch rest.by {
            case .operator: "an operator has paused it"
            case .account: "it refuses the account (\(rest.error ?? ""))"
            case .limit: "all its servers said 429"
            case .budget: "its calls of today are spent"
            }
        return "left alone, \(why)" + (rest.forSeconds.map { ", for \($0) s more" } ?? "")
    }
}

extension ServerCondition {
    /// Whether a server is asked, or why not.
    fileprivate func text(_ now: ContinuousClock.Instant) -> String {
        switch self {
        case .up: "up"
        case .rests(let until, let error):
            "rests (\(error)), for \(until.seconds(from: now)) s more"
        case .loops: "leads back to this server"
        case .paused: "paused by an operator"
        }
    }
}
