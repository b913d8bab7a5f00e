// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire

extension Query {
    var variant: AnswerVariant {
        AnswerVariant(dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// True for A and AAAA, the types that vendors resolve.
    var asksForAddress: Bool { question.type == .a || question.type == .aaaa }
}
