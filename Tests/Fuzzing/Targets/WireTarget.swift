// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension FuzzTarget {
    static let wire = FuzzTarget(name: "wire") { octets in
        let message = try? Message(parsing: octets)
        if let message { try WireOracle.judgeWriting(message) }
        try WireOracle.judgeReading(octets, message)
    }
}

private enum WireOracle {
    static func judgeWriting(_ message: Message) throws {
        // If the encoder compresses the names less than the input does, the encoded message can be
        // too long (more than 65,535 octets).
        guard let whole = message.encodedIfItFits() else { return }
        let again = try Message(parsing: whole)
        try promise(again == message, "a message changes by encoding and parsing")
        try promise(again.encoded() == whole, "a message has two encodings")
        let records = message.answers + message.authorities + message.additionals
        try promise(
            records.allSatisfy { "\($0)".utf8.allSatisfy { 0x20...0x7E ~= $0 } },
            "terminal control characters in a printed record"
        )
    }

    /// Property: `QueryFacts` agrees with the parsed message, or rejects an invalid or unusual
    /// query.
    static func judgeReading(_ octets: [UInt8], _ message: Message?) throws {
        let facts: QueryFacts
        do throws(QueryFault) {
            facts = try QueryFacts(checking: octets.rawSpan)
        } catch {
            try judge(error, octets, message)
            return
        }
        if let message {
            try judge(facts, octets, message)
            let asks = message.edns?.options.contains { $0.code == EDNSOption.Code.keepalive }
            try promise(asks == facts.edns?.asksKeepalive, "wrong keepalive")
            try judgeCookies(facts, octets, message)
        } else {
            // In-place parsing ignores the contents of EDNS options.
            let bare = Array(octets[..<(facts.questionEnd + 9)]) + [0, 0]
            try promise(facts.edns != nil, "accepted in place, refused as a message")
            try judge(facts, bare, try Message(parsing: bare))
        }
        try judgeEmptyReply(facts, octets)
    }

    private static func judge(_ facts: QueryFacts, _ octets: [UInt8], _ message: Message) throws {
        guard let question = message.question else {
            throw Finding(description: "accepted in place without a question")
        }
        let header = message.header
        try promise(!header.isResponse && header.opcode == 0, "a message that is no query")
        try promise(
            message.answers.isEmpty && message.authorities.isEmpty && message.additionals.isEmpty,
            "records in a plain query"
        )
        try promise(header.flags == facts.flags, "wrong flags")
        try promise(question.name.octets == Array(octets[12..<facts.nameEnd]), "wrong name")
        try promise(
            question.type == facts.type && question.recordClass == facts.recordClass,
            "wrong question"
        )
        try promise(message.edns?.udpPayloadSize == facts.edns?.payloadSize, "wrong size")
        try promise(message.edns?.version == facts.edns?.version, "wrong version")
        try promise((message.edns?.dnssecOK ?? false) == facts.dnssecOK, "wrong DO")
    }

    private static func judgeCookies(
        _ facts: QueryFacts,
        _ octets: [UInt8],
        _ message: Message
    ) throws {
        let first = message.edns?.options.first { $0.code == EDNSOption.Code.cookie }
        try promise((first != nil) == facts.edns?.hasCookie ?? false, "wrong cookie")
        guard case .cookie(let client, _) = first else { return }
        let number = client.reduce(0) { $0 << 8 | UInt64($1) }
        let cookies = facts.edns?.cookies(in: octets.rawSpan)
        try promise(cookies?.client == number, "wrong client cookie")
    }

    /// Properties: a query that `QueryFacts` rejects is invalid or unusual, and an error reply has
    /// the ID of the query.
    private static func judge(_ fault: QueryFault, _ octets: [UInt8], _ message: Message?) throws {
        if let message {
            let isRight =
                switch fault {
                case .ignored: message.header.isResponse
                case .otherOpcode: message.header.opcode != 0
                case .malformed: message.questions.count != 1 || hasPointer(octets)
                case .unusual:
                    !message.answers.isEmpty || !message.authorities.isEmpty
                        || !message.additionals.isEmpty || message.questions.isEmpty
                }
            try promise(isRight, "\(fault), but a message")
        }
        var reply = octets
        let count = reply.withMutableRawSpan { fault.reply(to: octets.count, in: &$0) }
        guard count > 0 else { return }
        let header = try Message(parsing: Array(reply[..<count])).header
        try promise(header.isResponse && reply[..<2] == octets[..<2], "no reply to this query")
    }

    private static func hasPointer(_ octets: [UInt8]) -> Bool {
        var position = 12
        while position < octets.count, 1...63 ~= octets[position] {
            position += 1 + Int(octets[position])
        }
        return position < octets.count && octets[position] >= 0xC0
    }

    private static func judgeEmptyReply(_ facts: QueryFacts, _ octets: [UInt8]) throws {
        var buffer = octets + [UInt8](repeating: 0, count: 512)
        let count = buffer.withMutableRawSpan {
            facts.reply(rcode: .servFail, because: .networkError, in: &$0)
        }
        let reply = try Message(parsing: Array(buffer[..<count]))
        try promise(reply.header.isResponse && reply.rcode == .servFail, "no SERVFAIL")
        try promise(reply.header.id == UInt16(octets[0]) << 8 | UInt16(octets[1]), "wrong ID")
        try promise(
            buffer[12..<facts.questionEnd] == octets[12..<facts.questionEnd],
            "the question is changed"
        )
        try promise(
            reply.edns?.extendedErrors.first?.code == (facts.edns == nil ? nil : .networkError),
            "EDNS is not as in the query"
        )
    }
}
