// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Testing

/// The variables `DIFFERENTIAL_QUERIES` and `DIFFERENTIAL_SEED` set the query count and the seed.
@Suite("Same replies as Unbound", .needs(.nsd, .unbound), .hangLimit)
struct PeerTests {
    private static func number(_ name: String, else standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    private struct PeerQuery: CustomStringConvertible {
        let message: Message
        let isStream: Bool

        init(_ zone: inout GeneratedZone, _ random: inout Seeded, id: UInt16) throws {
            let types: [UInt16] = [
                1, 2, 5, 6, 12, 13, 15, 16, 28, 33, 35, 39, 43, 44, 46, 47, 48, 52, 64, 65, 99, 256,
                255, 257, 65_280, 65_281, 65_282,
            ]
            var type = types.randomElement(using: &random) ?? 1
            if Int.random(in: 0..<3, using: &random) == 0 { type = 1 }
            if Int.random(in: 0..<12, using: &random) == 0 {
                type = .random(in: 0...300, using: &random)
            }
            var header = Header(id: id)
            header.recursionDesired = true
            header.checkingDisabled = Int.random(in: 0..<8, using: &random) == 0
            header.authenticData = Int.random(in: 0..<8, using: &random) == 0
            var message = Message(header: header)
            var name = try Name(zone.question())
            var recordClass = RecordClass.in
            if Int.random(in: 0..<16, using: &random) == 0 {
                let classes: [UInt16] = [0, 2, 3, 3, 3, 4, 254, 255, 65_280]
                recordClass = RecordClass(rawValue: classes.randomElement(using: &random) ?? 3)
                let server = ["version.bind", "version.server", "hostname.bind", "id.server"]
                if Bool.random(using: &random) {
                    name = try Name(server.randomElement(using: &random) ?? "id.server")
                    type = [16, 255].randomElement(using: &random) ?? 16
                }
            }
            message.questions = [
                Question(
                    name: try name.withCase(&random),
                    type: RecordType(rawValue: type),
                    recordClass: recordClass
                )
            ]
            if Int.random(in: 0..<4, using: &random) > 0 {
                message.edns = EDNS(
                    udpPayloadSize: [0, 512, 1_232, 4_096].randomElement(using: &random) ?? 512,
                    dnssecOK: Bool.random(using: &random)
                )
            }
            self.message = message
            isStream = Int.random(in: 0..<5, using: &random) == 0
        }

        var description: String {
            let question = message.questions[0]
            return
                "\(question.name) \(question.recordClass) \(question.type) edns=\(message.edns.map { "\($0)" } ?? "none")"
                + " cd=\(message.header.checkingDisabled) \(isStream ? "tcp" : "udp")"
        }
    }

    private struct Forwarder {
        let port: UInt16
        let datagrams: Socket

        init(_ port: UInt16) throws {
            self.port = port
            datagrams = try Socket(.datagram, to: port)
        }

        func reply(to sample: PeerQuery) throws -> [UInt8] {
            let octets = sample.message.encoded()
            guard sample.isStream else {
                try datagrams.send(octets)
                return try datagrams.receive()
            }
            let stream = try Socket(.stream, to: port)
            try stream.sendFramed([octets])
            return try stream.receiveFramed()
        }
    }

    @Test("httpdnsd and Unbound give equal answers to random queries, except known differences")
    func same() throws {
        let seed = Self.number("DIFFERENTIAL_SEED", else: 1)
        let count = Self.number("DIFFERENTIAL_QUERIES", else: 1_500)
        var zone = GeneratedZone(seed: UInt64(seed))
        let upstream = try TestUpstream(zones: [GeneratedZone.name: zone.text])
        let peer = try ForwardingUnbound(before: upstream)
        let daemon = try TestDaemon(upstream.text)
        let (ours, theirs) = (try Forwarder(daemon.port), try Forwarder(peer.port))
        let source = try Forwarder(upstream.port)
        var random = Seeded(UInt64(seed) + 1)
        var explained: [Difference: Int] = [:]
        var unexplained = 0
        for number in 0..<count {
            let sample = try PeerQuery(&zone, &random, id: UInt16(truncatingIfNeeded: number))
            let first = try ours.reply(to: sample)
            let second = try theirs.reply(to: sample)
            let (our, their) = (try Message(parsing: first), try Message(parsing: second))
            check(our, first, sample)
            guard Told(our) != Told(their) else { continue }
            let original = try Message(parsing: source.reply(to: sample))
            let question = sample.message.questions[0]
            if let difference = Difference(question, our, their, original) {
                explained[difference, default: 0] += 1
            } else {
                unexplained += 1
                if unexplained <= 10 {
                    Issue.record("\(number): \(sample)\nwe:   \(Told(our))\nthey: \(Told(their))")
                }
            }
        }
        #expect(unexplained == 0)
        #expect(explained.values.reduce(0, +) < count / 4, "\(explained)")
        let all = explained.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        print("\(count) queries, seed \(seed); differences with a rule: \(all)")
        try daemon.stop()
    }

    private func check(_ reply: Message, _ octets: [UInt8], _ sample: PeerQuery) {
        let query = sample.message
        let limit =
            sample.isStream
            ? 65_535 : query.edns.map { min(max(Int($0.udpPayloadSize), 512), 1_232) } ?? 512
        #expect(octets.count <= limit, "\(sample)")
        #expect(
            reply.questions.map(\.name.octets) == query.questions.map(\.name.octets),
            "\(sample)"
        )
        #expect(reply.header.id == query.header.id, "\(sample)")
        #expect(reply.header.isResponse && reply.header.recursionAvailable, "\(sample)")
        #expect(!reply.header.isAuthoritative && reply.header.flags & 0x0040 == 0, "\(sample)")
        #expect(!reply.header.authenticData, "\(sample)")
        #expect(!(sample.isStream && reply.header.isTruncated), "\(sample)")
        #expect((reply.edns == nil) == (query.edns == nil), "\(sample)")
        #expect((reply.edns?.dnssecOK ?? false) == (query.edns?.dnssecOK ?? false), "\(sample)")
    }
}

/// Parts of a reply that the test compares: all except the TTLs and the order of records.
private struct Told: Equatable, CustomStringConvertible {
    let rcode: RCode
    let flags: UInt16
    let edns: EDNS?
    let answers: Set<String>
    let authorities: Set<String>
    let additionals: Set<String>

    init(_ message: Message) {
        func texts(_ records: [Record]) -> Set<String> {
            Set(
                records.map {
                    "\($0.name) \($0.recordClass) \($0.type) ".lowercased()
                        + "\($0.data)".lowercased()
                }
            )
        }
        rcode = message.rcode
        flags = message.header.flags & 0xFFF0
        edns = message.edns.map { EDNS(udpPayloadSize: $0.udpPayloadSize, dnssecOK: $0.dnssecOK) }
        answers = texts(message.answers)
        authorities = texts(message.authorities)
        additionals = texts(message.additionals)
    }

    var description: String {
        "\(rcode) flags=\(String(flags, radix: 16)) \(answers.sorted())"
            + " authority \(authorities.sorted()) additional \(additionals.sorted())"
            + (edns.map { " edns \($0)" } ?? "")
    }
}

/// Intended difference between the replies of httpdnsd and Unbound.
private enum Difference: String {
    /// Types that are no record types (RFC 6895 §3.1).
    ///
    /// httpdnsd answers ANY with HINFO (RFC 8482 §4.2) and refuses the other types.
    case metaType

    /// Classes other than IN, which httpdnsd refuses.
    ///
    /// Unbound answers queries of class CH for its version (RFC 4892 §3). To queries of class ANY,
    /// Unbound replies with records of class IN.
    case otherClass

    /// An alias to itself, for which Unbound answers SERVFAIL.
    case aliasLoop

    /// Query of type DNAME for a name below the owner of a DNAME record.
    ///
    /// The reply contains an alias, and is a denial for the target of the alias. httpdnsd adds the
    /// SOA record of this denial (RFC 2308 §2.2), Unbound does not.
    case renamed

    /// Answer that Unbound composes from cached records.
    ///
    /// httpdnsd passes on the upstream's answer (RFC 5625 §4: a proxy is transparent).
    case composed

    /// Additional section, which httpdnsd removes because it is not trustworthy (RFC 2181 §5.4.1).
    case additional

    init?(_ question: Question, _ our: Message, _ their: Message, _ original: Message) {
        let (we, they, source) = (Told(our), Told(their), Told(original))
        if question.recordClass != .in {
            guard our.rcode == .refused, we.answers.isEmpty else { return nil }
            self = .otherClass
        } else if question.type.rawValue == 0 || question.type.rawValue == 41
            || 128...255 ~= question.type.rawValue
        {
            self = .metaType
        } else if their.rcode == .servFail,
            our.answers.contains(where: { $0.data == .cname($0.name) })
        {
            self = .aliasLoop
        } else if question.type == .dname, we.answers == they.answers,
            our.authorities.map(\.type) == [.soa], their.authorities.isEmpty
        {
            self = .renamed
        } else if we.rcode == they.rcode, we.answers == source.answers,
            they.answers.isStrictSuperset(of: we.answers)
        {
            self = .composed
        } else if we.additionals.isEmpty, we == Told(their.withoutAdditionals) {
            self = .additional
        } else {
            return nil
        }
    }
}

extension Message {
    fileprivate var withoutAdditionals: Message {
        var message = self
        message.additionals = []
        return message
    }
}

extension Name {
    fileprivate func withCase(_ random: inout Seeded) throws -> Name {
        try Name(
            wire: octets.map { octet in
                (0x41...0x5A).contains(octet & 0xDF) && Bool.random(using: &random)
                    ? octet ^ 0x20 : octet
            }
        )
    }
}
