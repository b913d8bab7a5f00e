// SPDX-License-Identifier: Apache-2.0

/// DNS message that owns its data (RFC 1035 §4.1).
package struct Message: Hashable, Sendable {
    package var header: Header

    /// Questions; in practice one (RFC 9619 §4).
    package var questions: [Question]

    package var answers: [Record]
    package var authorities: [Record]

    package var additionals: [Record]

    package var edns: EDNS?

    package init(
        header: Header = Header(),
        questions: [Question] = [],
        answers: [Record] = [],
        authorities: [Record] = [],
        additionals: [Record] = [],
        edns: EDNS? = nil
    ) {
        self.header = header
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
        self.edns = edns
    }
}

// MARK: - Reading and changing

extension Message {
    /// Response code of twelve bits (RFC 6891 §6.1.3).
    ///
    /// If the message has no EDNS, the setter stores SERVFAIL in place of a code above 15.
    package var rcode: RCode {
        get { RCode(rawValue: UInt16(edns?.extendedRCode ?? 0) << 4 | header.flags & 0xF) }
        set {
            let isTooLong = newValue.rawValue > 0xF && edns == nil
            header.rcode = isTooLong ? .servFail : newValue
            edns?.extendedRCode = UInt8(truncatingIfNeeded: newValue.rawValue >> 4)
        }
    }

    package var question: Question? { questions.count == 1 ? questions.first : nil }
}
