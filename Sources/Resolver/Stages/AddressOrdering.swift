// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Stage that puts the fastest address first (`order: fastest`).
///
/// The first answer for a name does not wait for measurements.
@ServiceLoop
final class AddressOrdering {
    private let rules: [AnswerPolicy.ProbeRule]
    private let prober: AddressProber
    private let clocks: Clocks

    /// - Parameter rules: the names whose addresses are ordered; if empty, the addresses of all
    ///   names with vendors are ordered.
    init(_ rules: [AnswerPolicy.ProbeRule], prober: AddressProber, clocks: Clocks) {
        self.rules = rules
        self.prober = prober
        self.clocks = clocks
    }

    func order(_ finding: inout ResolvedAnswer, _ query: Query, _ match: RouteTable.Match?) {
        guard let port = port(query.question.name, match) else { return }
        order(&finding.resolution, of: query.question, port)
        for index in finding.siblings.indices {
            order(
                &finding.siblings[index].resolution,
                of: finding.siblings[index].question,
                port
            )
        }
    }

    private func port(_ name: Name, _ match: RouteTable.Match?) -> UInt16? {
        guard rules.isEmpty else { return rules.first { $0.names.covers(name) }?.port }
        return match?.hasVendors ?? false ? Self.standardPort : nil
    }

    private static let standardPort: UInt16 = 443

    private func order(_ resolution: inout Resolution, of question: Question, _ port: UInt16) {
        guard question.type.isAddress,
            (2...AddressProber.recordLimit).contains(Int(resolution.sections.answerCount)),
            let message = resolution.sections.message(to: question)
        else { return }
        let places = message.answers.indices.filter { message.answers[$0].type == question.type }
        let addresses = places.compactMap { message.answers[$0].data.address }
        guard addresses.count > 1 else { return }
        let ordered = prober.ranking.ordered(addresses, port: port, now: clocks.now())
        if ordered != addresses {
            var answers = message.answers
            for (place, address) in zip(places, ordered) {
                // The whole record moves, so that each address keeps its TTL.
                let old = places.first { message.answers[$0].data.address == address } ?? place
                answers[place] = message.answers[old]
            }
            var inOrder =
                resolution.replacing(
                    answers: answers,
                    of: question,
                    authorities: message.authorities
                ) ?? resolution
            // Signatures do not cover the order of the records (RFC 4034 §6.3).
            inOrder.isAuthentic = resolution.isAuthentic
            resolution = inOrder
        }
        guard resolution.lifetime > 0 else { return }
        prober.order(
            AddressProber.Job(
                question: question,
                variant: resolution.variant,
                addresses: addresses,
                port: port
            )
        )
    }
}
