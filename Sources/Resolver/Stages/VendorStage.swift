// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
package import Net

/// Asks the vendors of a route, one after the other, and answers both families with one call.
///
/// Clients ask A and AAAA of a name nearly at once, and a vendor bills each call: so whoever asks
/// first has both asked, whoever asks meanwhile waits for that call whatever the family, and both
/// answers are kept.
@ServiceLoop
package final class VendorStage {
    private let policy: TTLPolicy
    private let origins: Origins
    private let store: AnswerStore
    private let inFlight = InFlight<Wanted, Outcome>()

    /// Names that a vendor had nothing for, until when; asking for their other family is spared.
    private var knownEmpty = RecentNames(limit: 4_096)

    /// What happened besides answers.
    package private(set) var numbers = VendorStageNumbers()

    /// How long vendors' answers took.
    package nonisolated let latency = LatencyHistogram()

    /// Makes the stage.
    package init(policy: TTLPolicy, origins: Origins, store: AnswerStore) {
        self.policy = policy
        self.origins = origins
        self.store = store
    }

    /// What the vendors of a route made of a name.
    enum Outcome: Sendable {
        case answered(VendorAnswer, Provenance)

        /// There is such a vendor, but it has no address: no record, or a name not registered with
        /// it; the two cannot be told apart.
        case empty

        /// There is no such name or no such address, by the vendor's own word; only APIs that pass on
        /// what the DNS says have one.
        case denied(Denial, Provenance)
        case failed
    }

    /// What one call is for.
    private struct Wanted: Hashable, Sendable {
        let name: Name
        let families: Families
    }

    /// What is known after the vendors were asked for one family.
    enum Result {
        case answered(Resolution)
        case empty
        case failed
    }

    /// Asks for the addresses of the question's name.
    func resolve(
        _ query: Query,
        _ match: RouteTable.Match,
        deadline: ContinuousClock.Instant
    ) async -> Result {
        let question = query.question
        if knownEmpty.contains(question.name, now: Clock.now) {
            numbers.paired += 1
            return .empty
        }
        // Both families with one call, unless an API of the route answers one a call.
        let pairs = match.route.vendors.allSatisfy(\.facts.pairsFamilies)
        let wanted = Wanted(
            name: question.name,
            families: pairs ? .both : question.type == .a ? .v4 : .v6
        )
        let (outcome, wasMerged) = await inFlight.value(for: wanted) { [self] in
            await ask(wanted, match, deadline: deadline)
        }
        if wasMerged { numbers.paired += 1 }
        switch outcome {
        case .failed: return .failed
        case .empty: return .empty
        case .denied(let denial, let provenance):
            return .answered(denied(question, match, denial, provenance))
        case .answered(let answer, let provenance):
            let families = self.resolutions(question.name, answer, match, provenance)
            // A family of which the vendor said nothing usable is the fallback's to answer.
            guard var resolution = families[question.type] else { return .empty }
            resolution.isKept = true
            return .answered(resolution)
        }
    }

    /// Forgets which names had nothing, so that they are asked for again.
    package func forget() {
        knownEmpty.removeAll()
    }

    /// "This name has no such addresses", on our own authority.
    func noData(_ question: Question, _ match: RouteTable.Match) -> Resolution {
        noData(
            question,
            match,
            seconds: policy.negative.lowerBound,
            Provenance(source: .vendor, origin: Origins.itself)
        )
    }

    // MARK: - Asking

    /// Asks one vendor after the other, each with its share of the time that is left.
    private func ask(
        _ wanted: Wanted,
        _ match: RouteTable.Match,
        deadline: ContinuousClock.Instant
    ) async -> Outcome {
        let start = Clock.now
        let end = start + min(ResolverLimits.vendors, (deadline - start) * 5 / 8)
        for (index, vendor) in match.route.vendors.enumerated() {
            let now = Clock.now
            guard now < end else { break }
            let share = (end - now) / (match.route.vendors.count - index)
            do throws(VendorFailure) {
                let reply = try await vendor.lookUp(
                    wanted.name,
                    families: wanted.families,
                    deadline: now + share
                )
                latency.note(reply.duration)
                let provenance = Provenance(
                    source: .vendor,
                    origin: origins.number("\(vendor.name)/\(reply.server)")
                )
                if let denial = reply.answer.denial { return .denied(denial, provenance) }
                let answer = usable(reply.answer, match.route)
                guard !answer.isEmpty else {
                    rememberEmpty(wanted)
                    return .empty
                }
                keep(wanted.name, answer, match, provenance)
                return .answered(answer, provenance)
            } catch {
                continue
            }
        }
        return .failed
    }

    /// Lets the other family of an empty name be answered without a call for a while.
    private func rememberEmpty(_ wanted: Wanted) {
        guard wanted.families == .both else { return }
        knownEmpty.insert(
            wanted.name,
            until: Clock.now + .seconds(policy.negative.lowerBound)
        )
    }

    /// The answer without addresses that no public name may have, unless the route allows them.
    private func usable(_ answer: VendorAnswer, _ route: Route) -> VendorAnswer {
        guard !route.allowsPrivateAnswers else { return answer }
        var answer = answer
        var dropped = 0
        for family in [\VendorAnswer.v4, \VendorAnswer.v6] {
            guard let set = answer[keyPath: family] else { continue }
            let kept = set.addresses.filter { !$0.isPrivate }
            let count = set.addresses.count - kept.count
            answer[keyPath: family]?.addresses = kept
            answer[keyPath: family]?.dropped += count
            dropped += count
        }
        numbers.droppedAddresses += UInt64(dropped)
        return answer
    }

    // MARK: - Answering

    /// Keeps the answers for both families.
    private func keep(
        _ name: Name,
        _ answer: VendorAnswer,
        _ match: RouteTable.Match,
        _ provenance: Provenance
    ) {
        for (type, resolution) in resolutions(name, answer, match, provenance) {
            store.keep(
                resolution,
                for: Question(name: name, type: type, recordClass: .in)
            )
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
        let other = max(answer.v4?.ttl ?? 0, answer.v6?.ttl ?? 0)
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
    /// Questions that needed no call because one for the same name was under way or just ended.
    package var paired: UInt64 = 0

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
