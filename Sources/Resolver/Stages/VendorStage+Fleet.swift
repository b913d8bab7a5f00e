// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Fleet
internal import HTTPDNS
internal import Net

// MARK: - Answers of other machines

extension VendorStage {
    /// Asks the fleet for an answer of the first of `vendors`; if the fleet has no answer, calls
    /// this vendor.
    func askFleet(
        _ vendors: ArraySlice<VendorClient>,
        _ work: Work,
        _ completion: consuming Completion<Result>
    ) {
        guard let fleet, let vendor = vendors.first else {
            return call(vendors, work, completion)
        }
        let (query, match) = (work.query, work.match)
        let patience = work.waitEnd.map { max(.zero, $0 - clocks.now()) }
        guard
            let question = fleet.question(
                query.query,
                vendor,
                match,
                isAwaited: query.isAwaited,
                patience: patience
            )
        else { return call(vendors, work, ended: ended(nil, nil, vendor, work), completion) }
        let answered = completion.after { [self] (answer: Fleet.Answer, completion) in
            switch answer {
            case .value(let value, let age):
                guard let reply = fleet.reply(value, to: query.query.question.name) else {
                    return call(vendors, work, completion)
                }
                query.trace?.note("fleet: shared answer from \(value.machine), \(age) s old")
                statistics.vendors.sharedByVendor[vendor.name, default: 0] += 1
                completion(result(reply, of: vendor, work, shared: (value.machine, age)))
            case .call(let ticket, let stale):
                if let stale { keep(stale.value, vendor, fleet, work) }
                query.trace?.note("fleet: no shared answer from another machine")
                let ended = ended(ticket, question, vendor, work)
                call(vendors, work, ended: ended, completion)
            }
        }
        fleet.fleet.ask(question, answered)
    }

    /// Returns the function that shares the vendor's reply, or that ends the wait of the other
    /// machines.
    private func ended(
        _ ticket: Fleet.Ticket?,
        _ question: Fleet.Question?,
        _ vendor: VendorClient,
        _ work: Work
    ) -> (@ServiceLoop (VendorReply?) -> Void)? {
        guard let fleet else { return nil }
        let policy = policy.of(work.match)
        return { reply in
            let value = reply.flatMap { fleet.value(of: $0, policy) }
            if let ticket { return fleet.fleet.end(ticket, value) }
            // Before the call, `vendor.exit` was unknown, or the fleet failed. If `vendor.exit` is
            // known now, the reply is shared.
            guard let value, let reply, !reply.wasMerged,
                let question = question
                    ?? fleet.question(
                        work.query.query,
                        vendor,
                        work.match,
                        isAwaited: false,
                        patience: nil
                    )
            else { return }
            fleet.fleet.publish(question, value)
        }
    }

    /// Stores an expired answer of another machine, which the query uses if no server answers.
    private func keep(
        _ value: FleetValue,
        _ vendor: VendorClient,
        _ fleet: FleetExchange,
        _ work: Work
    ) {
        let question = work.query.query.question
        guard work.match.route.servesStale, let reply = fleet.reply(value, to: question.name),
            case .answered(let answer) = result(
                reply,
                of: vendor,
                to: question,
                work.match,
                shared: (value.machine, 0)
            )
        else { return }
        var stale = answer.resolution
        stale.shorten(to: fleet.staleTTL, question)
        stale.provenance.isStale = true
        stale.explanation = Explanation(code: .staleAnswer, text: "shared by another machine")
        work.query.sharedStale = stale
    }

    /// Converts an answer that another machine pushed; nil if the answer cannot be used.
    func pushed(
        _ value: FleetValue,
        _ name: Name,
        _ view: String,
        age: UInt32,
        _ match: RouteTable.Match
    ) -> (question: Question, answer: ResolvedAnswer)? {
        let question = Question(name: name, type: value.v4 == nil ? .aaaa : .a)
        guard let fleet, let vendor = fleet.vendor(of: view, match),
            let reply = fleet.reply(value, to: name),
            case .answered(let answer) = result(
                reply,
                of: vendor,
                to: question,
                match,
                shared: (value.machine, age)
            )
        else { return nil }
        return (question, answer)
    }
}

extension Resolver {
    /// Shares vendors' answers with other machines through `exchange`; with nil, stops sharing.
    package func use(_ exchange: FleetExchange?) {
        vendors.fleet = exchange
        exchange?.fleet.onPush = { [weak self] value, name, view, age in
            guard let self, let match = routes.route(for: name),
                let pushed = vendors.pushed(value, name, view, age: age, match)
            else { return }
            sharedResolution.push(pushed.answer, to: pushed.question, match)
        }
    }
}
