// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire

enum Samples {
    static func name(_ number: Int) -> Name {
        let digits = String(number)
        let zeros = String(repeating: "0", count: 7 - digits.count)
        return known("name\(zeros)\(digits).hits.example")
    }

    static func query(_ name: Name, hasEDNS: Bool) -> [UInt8] {
        var message = Message(header: Header(id: 4711, flags: HeaderFlags.recursionDesired))
        message.questions = [Question(name: name, type: .a)]
        if hasEDNS { message.edns = EDNS(udpPayloadSize: 1232) }
        return message.encoded()
    }

    static func answer(to name: Name) -> CachedAnswer {
        let question = Question(name: name, type: .a)
        guard let sections = try? AnswerSections(question: question, answers: addresses(of: name))
        else { fatalError("four addresses do not fit") }
        return CachedAnswer(
            question: question,
            variant: .any,
            rcode: .noError,
            sections: sections,
            lifetime: 3600,
            source: .upstream,
            server: 1
        )
    }

    static var message: Message {
        let target = known("server.site.example")
        var message = Message(header: Header(id: 4711, flags: HeaderFlags.response))
        message.questions = [Question(name: name(7), type: .a)]
        message.answers = [Record(name: name(7), ttl: 300, data: .cname(target))]
        message.answers += addresses(of: target)
        return message
    }

    private static func addresses(of name: Name) -> [Record] {
        (1...4).map { number in
            Record(name: name, ttl: 3600, data: .a(IPv4Address(value: 0xC000_0200 + number)))
        }
    }

    private static func known(_ text: String) -> Name {
        guard let name = try? Name(text) else { fatalError("\(text) is no name") }
        return name
    }
}
