// SPDX-License-Identifier: Apache-2.0

/// A whole message, read or to be written (RFC 1035 §4.1).
///
/// Everything in it is owned: for what waits, is kept or is changed.  Who only answers looks at a
/// query where it is.
package struct Message: Hashable, Sendable {
    /// The header without its counts, which follow from the sections.
    private var prologue: Header

    /// QUESTION: one in every message anybody sends (RFC 9619 §4).
    package var questions: [Question]

    /// ANSWER.
    package var answers: [Record]

    /// AUTHORITY.
    package var authorities: [Record]

    /// ADDITIONAL, without its OPT record.
    package var additionals: [Record]

    /// What the OPT record says, if there is one.
    package var edns: EDNS?

    /// Makes a message; the counts of `header` are not looked at.
    package init(
        header: Header = Header(),
        questions: [Question] = [],
        answers: [Record] = [],
        authorities: [Record] = [],
        additionals: [Record] = [],
        edns: EDNS? = nil
    ) {
        prologue = Header(id: header.id, flags: header.flags)
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
        self.edns = edns
    }
}

// MARK: - Reading and changing

extension Message {
    /// The header, its counts always those of the sections; counts that are set are not looked at.
    package var header: Header {
        get {
            Header(
                id: prologue.id,
                flags: prologue.flags,
                questionCount: UInt16(clamping: questions.count),
                answerCount: UInt16(clamping: answers.count),
                authorityCount: UInt16(clamping: authorities.count),
                additionalCount: UInt16(clamping: additionals.count + (edns == nil ? 0 : 1))
            )
        }
        set { prologue = Header(id: newValue.id, flags: newValue.flags) }
    }

    /// All twelve bits of the RCODE (RFC 6891 §6.1.3).
    ///
    /// Without EDNS there are four, and a code that needs more is set as SERVFAIL.
    package var rcode: RCode {
        get { RCode(rawValue: UInt16(edns?.extendedRCode ?? 0) << 4 | prologue.flags & 0xF) }
        set {
            let isTooLong = newValue.rawValue > 0xF && edns == nil
            prologue.rcode = isTooLong ? .servFail : newValue
            edns?.extendedRCode = UInt8(truncatingIfNeeded: newValue.rawValue >> 4)
        }
    }

    /// The only question; nil if there is none or more than one.
    package var question: Question? { questions.count == 1 ? questions.first : nil }
}
