// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Testing

/// Two forwarders before one name server tell their clients the same, or there is a rule why not.
///
/// `DIFFERENTIAL_QUERIES` and `DIFFERENTIAL_SEED` in the environment make it longer, and different.
@Suite("As Unbound does", .needs(.nsd, .unbound), .hangLimit)
struct PeerTests {
    /// A number of the environment, or what there is without.
    private static func number(_ name: String, else standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    /// What is asked, and how.
    private struct Inquiry: CustomStringConvertible {
        let message: Message
        let isStream: Bool

        /// Draws one.
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

    /// A forwarder, and connections to it.
    private struct Forwarder {
        let port: UInt16
        let datagrams: Socket

        init(_ port: UInt16) throws {
            self.port = port
            datagrams = try Socket(.datagram, to: port)
        }

        func reply(to inquiry: Inquiry) throws -> [UInt8] {
            let octets = inquiry.message.encoded()
            guard inquiry.isStream else {
                try datagrams.send(octets)
                return try datagrams.receive()
            }
            let stream = try Socket(.stream, to: port)
            try stream.sendFramed([octets])
            return try stream.receiveFramed()
        }
    }

    @Test("random queries get the same answers, but for differences that have a rule")
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
            let inquiry = try Inquiry(&zone, &random, id: UInt16(truncatingIfNeeded: number))
            let first = try ours.reply(to: inquiry)
            let second = try theirs.reply(to: inquiry)
            let (our, their) = (try Message(parsing: first), try Message(parsing: second))
            check(our, first, inquiry)
            guard Told(our) != Told(their) else { continue }
            let original = try Message(parsing: source.reply(to: inquiry))
            let question = inquiry.message.questions[0]
            if let difference = Difference(question, our, their, original) {
                explained[difference, default: 0] += 1
            } else {
                unexplained += 1
                if unexplained <= 10 {
                    Issue.record("\(number): \(inquiry)\nwe:   \(Told(our))\nthey: \(Told(their))")
                }
            }
        }
        #expect(unexplained == 0)
        // Rules are exceptions.
        #expect(explained.values.reduce(0, +) < count / 4, "\(explained)")
        let all = explained.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        print("\(count) queries, seed \(seed); differences with a rule: \(all)")
        try daemon.stop()
    }

    /// What must hold of any reply, whatever others do.
    private func check(_ reply: Message, _ octets: [UInt8], _ inquiry: Inquiry) {
        let query = inquiry.message
        let limit =
            inquiry.isStream
            ? 65_535 : query.edns.map { min(max(Int($0.udpPayloadSize), 512), 1_232) } ?? 512
        #expect(octets.count <= limit, "\(inquiry)")
        #expect(
            reply.questions.map(\.name.octets) == query.questions.map(\.name.octets),
            "\(inquiry)"
        )
        #expect(reply.header.id == query.header.id, "\(inquiry)")
        #expect(reply.header.isResponse && reply.header.recursionAvailable, "\(inquiry)")
        #expect(!reply.header.isAuthoritative && !reply.header.zero, "\(inquiry)")
        #expect(!reply.header.authenticData, "\(inquiry)")
        #expect(!(inquiry.isStream && reply.header.isTruncated), "\(inquiry)")
        #expect((reply.edns == nil) == (query.edns == nil), "\(inquiry)")
        #expect((reply.edns?.dnssecOK ?? false) == (query.edns?.dnssecOK ?? false), "\(inquiry)")
    }
}

/// What of a reply must be the same: no TTLs, which tell how long ago each of the two asked, and no
/// order, which has no meaning (RFC 1034 §3.6).
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

/// Differences that are meant, each with the rule that lets us differ.
private enum Difference: String {
    /// Types that ask for no record of a name (RFC 6895 §3.1): ANY is answered with HINFO
    /// (RFC 8482 §4.2), the others are refused before anybody is asked.
    case metaType

    /// Classes other than IN: refused here, as they have no records that anybody asks a forwarder for
    /// but those in which a server tells of itself (RFC 4892 §3 leaves that to it); they tell who and
    /// what they are, and answer class ANY with records of IN.
    case otherClass

    /// An alias that leads to itself: we tell what there is, as the upstream did; they fail.
    case aliasLoop

    /// A DNAME of a name that is below one: the alias leads to a name without, so ours has the SOA of
    /// a denial (RFC 2308 §2.2); theirs has the DNAME, which is of another name, and no more.
    case renamed

    /// They composed the answer of what they had learnt from others; ours is what the upstream says
    /// to this question (RFC 5625 §4: a proxy is transparent).
    case composed

    /// They passed on what is beside the answer; we do not, as nothing vouches for it
    /// (RFC 2181 §5.4.1) and no client may need it.
    case additional

    /// - Parameter original: what the upstream itself says.
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
    /// The same message without its additional section.
    fileprivate var withoutAdditionals: Message {
        var message = self
        message.additionals = []
        return message
    }
}

extension Name {
    /// The same name with the case of each letter drawn by lot.
    fileprivate func withCase(_ random: inout Seeded) throws -> Name {
        try Name(
            wire: octets.map { octet in
                (0x41...0x5A).contains(octet & 0xDF) && Bool.random(using: &random)
                    ? octet ^ 0x20 : octet
            }
        )
    }
}
