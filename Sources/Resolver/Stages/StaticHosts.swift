// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Names whose addresses the operator has written down.
///
/// They win over special names and routes, as they do in every program's own look-ups.  Of other
/// types than addresses somebody else may know, except of names that never leave the machine.
@ServiceLoop
final class StaticHosts {
    private let overrides: Overrides
    private let provenance: Provenance

    /// Answers from the hosts of `overrides`.
    init(_ overrides: Overrides, origins: Origins) {
        self.overrides = overrides
        provenance = Provenance(source: .local, origin: origins.number("hosts"))
    }

    /// The answer to a question about a name that is written down, if it is to be had here.
    func answer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        let hosts = overrides.hosts
        guard !hosts.isEmpty else { return nil }
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
        // Else it would be said that there is no such name, or the root be asked for it.
        let stays =
            question.name.labelCount == 1
            || SpecialNames.answer(question, match) != nil
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
