// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// What is asked of an upstream resolver: a question and what the client said of DNSSEC.
package struct ForwardedQuery: Hashable, Sendable {
    package var question: Question

    /// Whether signatures are wanted (RFC 3225).
    package var dnssecOK: Bool

    /// Whether the upstream is not to validate (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool

    /// Ends the query early; nil if that never happens.
    ///
    /// Two queries that differ in this alone are equal.
    package var cancellation: CancellationSignal?

    /// Whether the query has an OPT record; not if the server does not know EDNS (RFC 6891 §7).
    var usesEDNS = true

    /// Puts the parts together.
    package init(
        question: Question,
        dnssecOK: Bool,
        checkingDisabled: Bool,
        cancellation: CancellationSignal? = nil
    ) {
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.cancellation = cancellation
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.question == right.question && left.dnssecOK == right.dnssecOK
            && left.checkingDisabled == right.checkingDisabled && left.usesEDNS == right.usesEDNS
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(question)
        hasher.combine(dnssecOK)
        hasher.combine(checkingDisabled)
        hasher.combine(usesEDNS)
    }

    /// Whether nobody wants the reply any more.
    @ServiceLoop
    var isCancelled: Bool { cancellation?.isCancelled ?? false }
}

/// One query sent to one upstream, and the judgement of what comes back: no I/O.
///
/// The query is built afresh from what was parsed; of the client's octets nothing is passed on, nor
/// are its EDNS options (RFC 6891 §6.1.1 makes them hop by hop).
package struct UpstreamExchange {
    /// The message to send.
    package private(set) var message: [UInt8]

    /// Ends the query early.
    let cancellation: CancellationSignal?

    /// Whether it asks the daemon's own question.
    let isProbe: Bool

    /// What makes a reply ours, besides the question.
    let id: UInt16

    /// Where the question ends in the message, and in each reply to it.
    private let questionEnd: Int

    /// What a query goes through, and so what has to protect it.
    package enum Transport {
        /// Anybody may send us datagrams: a fresh ID and a fresh mixture of upper and lower case
        /// (0x20) are what a forger who does not see the query must guess (RFC 5452 §9.2).
        case datagram

        /// TCP: the ID is the connection's business, here 0.
        case stream

        /// DoT and DoH: the same, padded, so that its length does not tell the name (RFC 8467).
        /// For DoH the ID stays 0 (RFC 8484 §4.1).
        case encrypted
    }

    /// Builds the query, with what has to be random taken from `random`.
    ///
    /// - Parameter validates: whether to ask for AD, as nobody need say it unasked (RFC 6840 §5.7).
    package init(
        _ query: ForwardedQuery,
        over transport: Transport = .datagram,
        validates: Bool = false,
        random: inout some RandomNumberGenerator
    ) {
        cancellation = query.cancellation
        isProbe = query.isProbe
        var header = Header()
        header.recursionDesired = true
        header.checkingDisabled = query.checkingDisabled
        header.authenticData = validates
        if transport == .datagram {
            header.id = UInt16(truncatingIfNeeded: random.next())
        }
        id = header.id
        let name = query.question.name.octets
        questionEnd = Self.nameStart + name.count + 4
        message = OutgoingQuery.octets(
            header,
            query.question,
            payload: UInt16(QueryFacts.largestPayload),
            dnssecOK: query.dnssecOK,
            hasEDNS: query.usesEDNS,
            block: transport == .encrypted ? UpstreamLimits.padding : nil
        )
        if transport == .datagram {
            message.drawCase(in: Self.nameStart..<questionEnd - 4, using: &random)
        }
    }

    /// Where the name is in a message: behind the header (RFC 1035 §4.1.1).
    private static let nameStart = QueryFacts.headerCount

    /// What a datagram or TCP message turned out to be.
    package enum Judgement {
        /// Not the reply to this query: the wait goes on as if it had not come (RFC 5452 §9.1), so a
        /// forger can neither answer nor stop us from hearing the answer.
        case foreign

        /// The reply, cut: to be asked again over TCP (RFC 7766 §5).
        case truncated

        /// The reply in all but the case of its letters: a server that does not keep it, or a
        /// forger; TCP, which cannot be forged blindly, will tell.
        case caseLost

        case reply(Message)
    }

    /// Judges `octets`, which came from the address that the query was sent to.
    package func judge(_ octets: [UInt8]) -> Judgement { judge(octets.span) }

    /// Judges octets that are in somebody's buffer.
    ///
    /// The question is compared where it is: it is the first thing in a message, so nothing can be
    /// compressed in it.
    func judge(_ octets: Span<UInt8>) -> Judgement {
        if isBareError(octets) { return .caseLost }
        guard octets.count >= questionEnd, octets[0] == message[0], octets[1] == message[1],
            // QR set, OPCODE 0, QDCOUNT 1.
            octets[2] & 0xF8 == 0x80, octets[4] == 0, octets[5] == 1
        else { return .foreign }
        var keepsCase = true
        for index in Self.nameStart..<questionEnd where octets[index] != message[index] {
            guard index < questionEnd - 4, octets[index].isSameLetter(as: message[index]) else {
                return .foreign
            }
            keepsCase = false
        }
        guard let reply = try? Message(parsing: octets) else { return .foreign }
        guard keepsCase else { return .caseLost }
        return reply.header.isTruncated ? .truncated : .reply(reply)
    }

    /// Whether octets are a header alone that says FORMERR or NOTIMP with the ID of the query.
    ///
    /// Servers that cannot read a query may send that.  It proves too little over UDP, so that the
    /// query is repeated over TCP.
    private func isBareError(_ octets: Span<UInt8>) -> Bool {
        octets.count == Self.nameStart && octets[0] == message[0] && octets[1] == message[1]
            && octets[2] & 0xF8 == 0x80 && octets[4] == 0 && octets[5] == 0
            && [RCode.formErr.rawValue, RCode.notImp.rawValue].contains(UInt16(octets[3] & 0x0F))
    }

    /// Judges the octets of a stream's reply, where the case of letters proves nothing more.
    package func judgeStream(_ octets: [UInt8]) -> Message? {
        switch judge(octets) {
        case .reply(let message): message
        case .caseLost: (try? Message(parsing: octets)).flatMap { $0.header.isTruncated ? nil : $0 }
        case .foreign, .truncated: nil
        }
    }
}

extension UInt8 {
    /// Whether it is a letter of ASCII.
    fileprivate var isLetter: Bool { (0x41...0x5A).contains(self & 0xDF) }

    /// Whether it and another octet are one letter, be its case as it may.
    fileprivate func isSameLetter(as other: UInt8) -> Bool {
        isLetter && self & 0xDF == other & 0xDF
    }
}

extension [UInt8] {
    /// Draws the case of each letter by lot.
    ///
    /// The lengths of a name's labels, at most 63, are no letters.
    fileprivate mutating func drawCase(
        in name: Range<Int>,
        using random: inout some RandomNumberGenerator
    ) {
        var bits: UInt64 = 0
        var left = 0
        for index in name where self[index].isLetter {
            if left == 0 {
                bits = random.next()
                left = 64
            }
            self[index] = self[index] & 0xDF | (bits & 1 == 0 ? 0 : 0x20)
            bits >>= 1
            left -= 1
        }
    }
}
