// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Answers from the static hosts: hosts files and the `hosts` settings.
///
/// Static hosts override special names and routes, as `/etc/hosts` overrides DNS in libc. Queries
/// for types that static hosts do not define, such as MX, are forwarded; for special names and
/// names with one label, these queries get NODATA instead.
@ServiceLoop
final class StaticHosts {
    private let localAnswers: LocalAnswers
    private let provenance: Provenance

    init(_ localAnswers: LocalAnswers, origins: AnswerSourceRegistry) {
        self.localAnswers = localAnswers
        provenance = Provenance(source: .local, origin: origins.number("hosts"))
    }

    func answer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        guard localAnswers.mayBeStatic(question.name) else { return nil }
        let hosts = localAnswers.hosts
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
        // Without NODATA, queries for special names would get NXDOMAIN, and queries for names with
        // one label would be forwarded.
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
