// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// What is asked of an upstream resolver: a question and what the client said of DNSSEC.
package struct ForwardedQuery: Hashable, Sendable {
    package var question: Question

    /// Whether signatures are wanted (RFC 3225).
    package var dnssecOK: Bool

    /// Whether the upstream is not to validate (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool

    /// Puts the parts together.
    package init(question: Question, dnssecOK: Bool, checkingDisabled: Bool) {
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
    }
}

/// One query sent to one upstream, and the judgement of what comes back: no I/O.
///
/// The query is built afresh from what was parsed; of the client's octets nothing is passed on, nor
/// are its EDNS options (RFC 6891 §6.1.1 makes them hop by hop).
struct UpstreamExchange {
    /// The message to send.
    let message: [UInt8]

    private let id: UInt16
    private let question: Question

    /// What a query goes through, and so what has to protect it.
    enum Transport {
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
    init(
        _ query: ForwardedQuery,
        over transport: Transport = .datagram,
        validates: Bool = false,
        random: inout some RandomNumberGenerator
    ) {
        var asked = query.question
        var header = Header()
        if transport == .datagram {
            header.id = UInt16.random(in: 0...UInt16.max, using: &random)
            asked.name = asked.name.withRandomCase(using: &random)
        }
        id = header.id
        question = asked
        header.recursionDesired = true
        header.checkingDisabled = query.checkingDisabled
        header.authenticData = validates
        var edns = EDNS()
        edns.udpPayloadSize = UInt16(QueryFacts.largestPayload)
        edns.dnssecOK = query.dnssecOK
        var message = Message(header: header)
        message.questions = [question]
        message.edns = edns
        if transport == .encrypted { message.pad(toMultipleOf: UpstreamLimits.padding) }
        self.message = message.encoded()
    }

    /// What a datagram or TCP message turned out to be.
    enum Judgement {
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
    func judge(_ octets: [UInt8]) -> Judgement {
        guard let message = try? Message(parsing: octets), message.header.isResponse,
            message.header.id == id, message.header.opcode == .query,
            message.questions.count == 1, message.questions[0] == question
        else { return .foreign }
        guard message.questions[0].name.octets == question.name.octets else { return .caseLost }
        return message.header.isTruncated ? .truncated : .reply(message)
    }

    /// Judges the octets of a stream's reply, where the case of letters proves nothing more.
    func judgeStream(_ octets: [UInt8]) -> Message? {
        switch judge(octets) {
        case .reply(let message): message
        case .caseLost: (try? Message(parsing: octets)).flatMap { $0.header.isTruncated ? nil : $0 }
        case .foreign, .truncated: nil
        }
    }
}

extension Name {
    /// The same name with the case of each letter drawn by lot.
    fileprivate func withRandomCase(using random: inout some RandomNumberGenerator) -> Name {
        var octets = octets
        var bits: UInt64 = 0
        var left = 0
        for index in octets.indices where (0x41...0x5A).contains(octets[index] & 0xDF) {
            if left == 0 {
                bits = random.next()
                left = 64
            }
            octets[index] = octets[index] & 0xDF | (bits & 1 == 0 ? 0 : 0x20)
            bits >>= 1
            left -= 1
        }
        return (try? Name(wire: octets)) ?? self
    }
}
