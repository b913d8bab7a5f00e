// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
package import Net

/// Asks the vendors of a route, one after the other, and answers both families with one call.
///
/// Clients ask A and AAAA of a name nearly at once, and a vendor bills each call: so whoever asks
/// first has both asked where one call can, and both answers are kept.  Whoever asks meanwhile gets
/// the same answer from the vendor's client, which is where calls are shared.
@ServiceLoop
package final class VendorStage {
    private let policy: TTLPolicy
    private let origins: Origins
    private let store: AnswerStore
    private let clocks: Clocks

    /// Names that a vendor had nothing for, until when; asking for their other family is spared.
    private var knownEmpty = RecentNames(limit: 4_096)

    /// What happened besides answers.
    package private(set) var numbers = VendorStageNumbers()

    /// How long vendors' answers took.
    package nonisolated let latency = LatencyHistogram()

    /// Makes the stage.
    package init(policy: TTLPolicy, origins: Origins, store: AnswerStore, clocks: Clocks) {
        self.policy = policy
        self.origins = origins
        self.store = store
        self.clocks = clocks
    }

    /// What is known after the vendors of a route were asked.
    enum Result {
        case answered(Resolution)

        /// There is such a vendor, but it has no address: no record, or a name not registered with
        /// it; the two cannot be told apart.
        case empty(Provenance)

        /// No vendor gave an answer in time.
        case failed
    }

    /// Asks one vendor after the other, each with its share of the time that is left.
    func resolve(
        _ query: Query,
        _ match: RouteTable.Match,
        deadline: ContinuousClock.Instant
    ) async -> Result {
        let question = query.question
        let start = clocks.now()
        if knownEmpty.contains(question.name, now: start) {
            // Who would have been asked first is who was spared a call.
            let vendor = match.route.vendors.first?.name ?? ""
            numbers.pairedByVendor[vendor, default: 0] += 1
            var provenance = Provenance.vendor
            provenance.origin = origins.number(provenance.origin, after: vendor)
            return .empty(provenance)
        }
        let end = start + min(ResolverLimits.vendors, (deadline - start) * 5 / 8)
        for (index, vendor) in match.route.vendors.enumerated() {
            let now = clocks.now()
            guard now < end else { break }
            let share = (end - now) / (match.route.vendors.count - index)
            do throws(VendorFailure) {
                let reply = try await vendor.lookUp(
                    question.name,
                    families: question.type == .a ? .v4 : .v6,
                    route: match.route.place,
                    deadline: now + share
                )
                latency.note(reply.duration)
                return result(reply, of: vendor, to: question, match)
            } catch {
                continue
            }
        }
        return .failed
    }

    /// Forgets which names had nothing, so that they are asked for again.
    package func forget() {
        knownEmpty.removeAll()
    }

    /// "This name has no such addresses", on our own authority, where nobody else is asked.
    func noData(
        _ question: Question,
        _ match: RouteTable.Match,
        _ provenance: Provenance
    ) -> Resolution {
        noData(question, match, seconds: policy.negative.lowerBound, provenance)
    }

    /// Notes that a fallback's answer spares the vendor, which had none, the next call.
    func note(_ resolution: inout Resolution, after empty: Provenance) {
        guard let vendor = origins.vendor(empty.origin) else { return }
        resolution.provenance.origin = origins.number(
            resolution.provenance.origin,
            after: vendor
        )
    }

    // MARK: - Judging

    /// What a vendor's reply is to the question; the other family, if it came along, is kept.
    private func result(
        _ reply: VendorReply,
        of vendor: VendorClient,
        to question: Question,
        _ match: RouteTable.Match
    ) -> Result {
        var provenance = Provenance(
            source: .vendor,
            origin: origins.number("\(vendor.name)/\(reply.server)", vendor: vendor.name)
        )
        provenance.wasMerged = reply.wasMerged
        if let denial = reply.answer.denial {
            return .answered(denied(question, match, denial, provenance))
        }
        let (answer, dropped) = usable(reply.answer, match.route)
        // Who joined another's call need not count and keep what that one counts and keeps.
        if !reply.wasMerged { numbers.droppedAddresses += dropped }
        guard !answer.isEmpty else {
            if vendor.facts.pairsFamilies { rememberEmpty(question.name) }
            return .empty(provenance)
        }
        var families = resolutions(question.name, answer, match, provenance)
        let resolution = families.removeValue(forKey: question.type)
        if !reply.wasMerged { keep(question.name, families) }
        // A family of which the vendor said nothing usable is the fallback's to answer.
        return resolution.map(Result.answered) ?? .empty(provenance)
    }

    /// Lets the other family of an empty name be answered without a call for a while.
    private func rememberEmpty(_ name: Name) {
        knownEmpty.insert(name, until: clocks.now() + .seconds(policy.negative.lowerBound))
    }

    /// The answer without addresses that no public name may have, unless the route allows them,
    /// and how many those were.
    private func usable(
        _ answer: VendorAnswer,
        _ route: Route
    ) -> (answer: VendorAnswer, dropped: UInt64) {
        guard !route.allowsPrivateAnswers else { return (answer, 0) }
        var answer = answer
        var dropped: UInt64 = 0
        for family in [\VendorAnswer.v4, \VendorAnswer.v6] {
            guard let set = answer[keyPath: family] else { continue }
            let kept = set.addresses.filter { !$0.isPrivate }
            let count = set.addresses.count - kept.count
            answer[keyPath: family]?.addresses = kept
            answer[keyPath: family]?.dropped += count
            dropped += UInt64(count)
        }
        return (answer, dropped)
    }

    // MARK: - Answering

    /// Keeps the answers for some families.
    private func keep(_ name: Name, _ families: [RecordType: Resolution]) {
        for (type, resolution) in families {
            store.keep(resolution, for: Question(name: name, type: type, recordClass: .in))
        }
    }

    /// One answer a family; the empty one is NODATA, as the other shows that the name exists.
    ///
    /// There is none for a family that the vendor was silent about, or of which every address was
    /// unusable.
    private func resolutions(
        _ name: Name,
        _ answer: VendorAnswer,
        _ match: RouteTable.Match,
        _ provenance: Provenance
    ) -> [RecordType: Resolution] {
        var resolutions: [RecordType: Resolution] = [:]
        // Only a family with addresses has a TTL; the other one's denial lives as long.
        let sets = [answer.v4, answer.v6].compactMap(\.self)
        let other = sets.first { !$0.addresses.isEmpty }?.ttl ?? 0
        for (type, set) in [(RecordType.a, answer.v4), (.aaaa, answer.v6)] {
            let question = Question(name: name, type: type, recordClass: .in)
            guard let set else { continue }
            if set.addresses.isEmpty {
                guard set.dropped == 0 else { continue }
                resolutions[type] = noData(
                    question,
                    match,
                    seconds: policy.clamp(other, to: policy.negative),
                    provenance
                )
                continue
            }
            let ttl = policy.clamp(set.ttl, to: policy.positive)
            let records = set.addresses.map { address in
                Record(
                    name: name,
                    type: type,
                    recordClass: .in,
                    ttl: ttl,
                    data: RecordData(address)
                )
            }
            resolutions[type] = try? Resolution(
                question,
                answers: records,
                lifetime: ttl,
                provenance: provenance
            )
        }
        return resolutions
    }

    /// "No such name" or "no such address", as the vendor said it.
    private func denied(
        _ question: Question,
        _ match: RouteTable.Match,
        _ denial: Denial,
        _ provenance: Provenance
    ) -> Resolution {
        let seconds = policy.clamp(
            denial.ttl ?? policy.negative.lowerBound,
            to: policy.negative
        )
        var resolution = noData(question, match, seconds: seconds, provenance)
        if denial.kind == .nxDomain { resolution.rcode = .nxDomain }
        return resolution
    }

    private func noData(
        _ question: Question,
        _ match: RouteTable.Match,
        seconds: UInt32,
        _ provenance: Provenance
    ) -> Resolution {
        (try? Resolution(
            question,
            authorities: [.syntheticSOA(match.domain, seconds: seconds)],
            lifetime: seconds,
            provenance: provenance
        ))
            ?? Resolution(rcode: .noError, provenance: provenance)
    }
}

/// Counts of what the vendor stage did besides answering.
package struct VendorStageNumbers: Sendable, Equatable {
    /// Questions that needed no call because the name's other family had just been found empty, by
    /// the vendor.
    package var pairedByVendor: [String: UInt64] = [:]

    /// The same of all vendors.
    package var paired: UInt64 { pairedByVendor.values.reduce(0, +) }

    /// Private addresses in vendors' answers that were dropped.
    package var droppedAddresses: UInt64 = 0
}

extension RecordData {
    /// The data of an address record.
    fileprivate init(_ address: IPAddress) {
        switch address {
        case .v4(let address): self = .a(address)
        case .v6(let address): self = .aaaa(address)
        }
    }
}
