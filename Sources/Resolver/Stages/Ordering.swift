// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Has the fastest address come first.
///
/// What it does comes after the cache was filled, since it is there that most clients get their
/// answers.  No answer waits until servers have been tried: the first one comes in the order of
/// whoever gave it.
@ServiceLoop
final class Ordering {
    private let rules: [AnswerPolicy.ProbeRule]
    private let probing: Probing
    private let clocks: Clocks

    /// Makes one.
    ///
    /// - Parameter rules: whose addresses are ordered; if there are none, those of vendors' names.
    init(_ rules: [AnswerPolicy.ProbeRule], probing: Probing, clocks: Clocks) {
        self.rules = rules
        self.probing = probing
        self.clocks = clocks
    }

    /// Puts the addresses in what was found out into their order.
    func order(_ finding: inout Finding, _ query: Query, _ match: RouteTable.Match?) {
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

    /// Where the servers of a name are tried; nil if they are not.
    private func port(_ name: Name, _ match: RouteTable.Match?) -> UInt16? {
        guard rules.isEmpty else { return rules.first { $0.names.covers(name) }?.port }
        return match?.hasVendors ?? false ? Self.standardPort : nil
    }

    private static let standardPort: UInt16 = 443

    /// Puts the addresses in the order that is known now, and the cached ones in the one that will be.
    private func order(_ resolution: inout Resolution, of question: Question, _ port: UInt16) {
        guard question.type.isAddress, resolution.sections.answerCount > 1,
            let message = resolution.sections.message(to: question)
        else { return }
        let places = message.answers.indices.filter { message.answers[$0].type == question.type }
        let addresses = places.compactMap { message.answers[$0].data.address }
        guard addresses.count > 1 else { return }
        let ordered = probing.ranking.ordered(addresses, port: port, now: clocks.now())
        if ordered != addresses {
            var answers = message.answers
            for (place, address) in zip(places, ordered) {
                // One of the same address has the TTL that was told with it.
                let old = places.first { message.answers[$0].data.address == address } ?? place
                answers[place] = message.answers[old]
            }
            var inOrder =
                resolution.replacing(
                    answers: answers,
                    of: question,
                    authorities: message.authorities
                ) ?? resolution
            // The same sets as before: their order is not what is signed (RFC 4034 §6.3).
            inOrder.isAuthentic = resolution.isAuthentic
            resolution = inOrder
        }
        guard resolution.lifetime > 0 else { return }
        probing.order(
            Probing.Job(
                question: question,
                variant: resolution.variant,
                addresses: addresses,
                port: port
            )
        )
    }
}
