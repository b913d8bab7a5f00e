// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire

extension FuzzTarget {
    /// The first three octets of the input set the age of the answer in seconds, and the flags of the
    /// query; the cached reply follows.
    static let cache = FuzzTarget(name: "cache") { octets in
        var input = FuzzInput(octets)
        let age = UInt32(input.number())
        let wishes = input.octet()
        guard let reply = try? Message(parsing: Array(input.rest)), reply.header.opcode == 0,
            let question = reply.question, question.recordClass == .in, question.type != .opt,
            let sections = try? AnswerSections(
                question: question,
                answers: reply.answers,
                authorities: reply.authorities,
                additionals: reply.additionals
            )
        else { return }
        try CacheOracle(reply, question, sections, age: age, wishes: wishes).judge()
    }
}

private struct CacheOracle {
    let reply: Message
    let question: Question
    let sections: AnswerSections
    let age: UInt32

    let query: Message

    let limit: Int

    init(
        _ reply: Message,
        _ question: Question,
        _ sections: AnswerSections,
        age: UInt32,
        wishes: UInt8
    ) {
        self.reply = reply
        self.question = question
        self.sections = sections
        self.age = age
        var header = Header(id: 0xBEEF)
        header.recursionDesired = true
        header.checkingDisabled = wishes & 1 != 0
        var asked = question
        // The client may change the letter case (0x20).
        if wishes & 2 != 0 { asked.name = question.name.lowercased }
        query = Message(
            header: header,
            questions: [asked],
            edns: wishes & 4 == 0 ? nil : EDNS(dnssecOK: wishes & 8 != 0)
        )
        limit = wishes & 16 == 0 ? WireLimits.messageOctets : wishes & 32 == 0 ? 512 : 1232
    }

    func judge() throws {
        let origin = Instant(nanoseconds: 1 << 50)
        let cache = AnswerCache(limit: 0, origin: origin, seed: 7)
        let rcode: RCode = reply.header.rcode == .nxDomain ? .nxDomain : .noError
        cache.insert(
            CachedAnswer(
                question: question,
                variant: .any,
                rcode: rcode,
                sections: sections,
                lifetime: .max,
                source: .upstream,
                server: 1
            ),
            now: origin
        )
        // The cache has the minimum size, and stores no answer larger than half of this size.
        guard cache.numbers.insertions > 0 else { return }
        let octets = query.encoded()
        let facts = try QueryFacts(checking: octets.rawSpan)
        var buffer = octets + [UInt8](repeating: 0xEE, count: limit)
        let hit = buffer.withMutableRawSpan { span in
            cache.withTable(now: origin + .seconds(Int64(age))) { table, now in
                table.answer(facts, in: &span, limit: limit, now: now)
            }
        }
        guard let hit else { throw Finding(description: "the stored answer is not found") }
        try promise(hit.length <= limit, "\(hit.length) octets where \(limit) are allowed")
        let patched = try Message(parsing: Array(buffer[..<hit.length]))
        try promise(
            patched.questions.first?.name.octets == query.questions.first?.name.octets,
            "the question's letter case is lost"
        )
        try promise(patched.header.isTruncated == hit.isTruncated, "TC contradicts the result")
        let expected = rebuilt(rcode, isTruncated: hit.isTruncated)
        try promise(patched == expected, "patched: \(patched)\nrebuilt: \(expected)")
        let length =
            facts.questionEnd + sections.octets.count + (query.edns?.octets.count ?? 0)
        try promise(hit.isTruncated == (length > limit), "cut, or not, at \(length) octets")
        try promise(hit.isTruncated || hit.length == length, "\(hit.length) octets")
    }

    private func rebuilt(_ rcode: RCode, isTruncated: Bool) -> Message {
        var header = query.header
        header.isResponse = true
        header.recursionAvailable = true
        header.isTruncated = isTruncated
        header.rcode = rcode
        var message = Message(header: header, questions: query.questions, edns: query.edns)
        guard !isTruncated else { return message }
        message.answers = reply.answers.map(aged)
        message.authorities = reply.authorities.map(aged)
        message.additionals = reply.additionals.map(aged)
        return message
    }

    private func aged(_ record: Record) -> Record {
        var record = record
        record.ttl -= min(record.ttl, age)
        return record
    }
}
