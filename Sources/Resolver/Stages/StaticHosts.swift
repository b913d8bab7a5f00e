// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// The first stage: names whose addresses the operator has written down.
///
/// They win over special names and routes, as they do in every program's own look-ups.  Of other
/// types than addresses somebody else may know, except of names that never leave the machine.
final class StaticHosts: Resolving {
    private let overrides: Overrides
    private let provenance: Provenance
    private let next: any Resolving

    /// Puts this stage before `next`.
    init(_ overrides: Overrides, origins: Origins, next: any Resolving) {
        self.overrides = overrides
        provenance = Provenance(source: .local, origin: origins.number("hosts"))
        self.next = next
    }

    func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        let isClaimed = match?.claimsSpecialNames ?? false
        if let answer = answer(query.question, isClaimed: isClaimed) { return Finding(answer) }
        return await next.resolve(query, match, deadline: deadline)
    }

    /// The answer to a question about a name that is written down, if it is to be had here.
    private func answer(_ question: Question, isClaimed: Bool) -> Resolution? {
        let hosts = overrides.hosts
        if hosts.covers(question) {
            let records = hosts.records(question)
            guard !records.isEmpty else { return noData(question) }
            return try? Resolution(
                question,
                answers: records,
                lifetime: ResolverLimits.hostsLifetime,
                provenance: provenance
            )
        }
        guard hosts.contains(question.name), SpecialNames.refusal(question) == nil else {
            return nil
        }
        // The next stage would say that there is no such name, or ask the root for it.
        let stays =
            question.name.labelCount == 1
            || !isClaimed && SpecialNames.answer(question) != nil
        return stays ? noData(question) : nil
    }

    private func noData(_ question: Question) -> Resolution {
        .noData(
            question,
            zone: question.name,
            seconds: ResolverLimits.hostsLifetime,
            provenance: provenance
        )
    }
}

extension HostsTable {
    /// The records that answer a question which the table covers; none for NODATA.
    fileprivate func records(_ question: Question) -> [Record] {
        let data: [RecordData]
        switch question.type {
        case .ptr:
            data = pointer(question.name).map { [.ptr($0)] } ?? []
        default:
            data = (addresses(of: question.name) ?? []).map(RecordData.init).filter { data in
                data.fits(question.type)
            }
        }
        return data.map { data in
            Record(name: question.name, ttl: ResolverLimits.hostsLifetime, data: data)
        }
    }
}
