// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Resolver

@Suite("Numbers that identify answer sources")
struct AnswerSourceTests {
    @Test("if all numbers are used, further sources share one number, and count as unprotected")
    func exhausted() {
        let origins = AnswerSourceRegistry()
        let first = origins.number("network/udp://192.0.2.1")
        for number in 0..<70_000 { _ = origins.number("network/udp://server-\(number)") }
        let last = origins.number("network/udp://192.0.2.2")
        #expect(last == AnswerSourceRegistry.unknown)
        #expect(origins.isLearned(last) && origins.isUnprotected(last))
        #expect(origins.number("network/udp://192.0.2.1") == first)
        #expect(origins.number(labelled: origins.label(last)) == last)
        // `numbers(named:)` always contains `last`, because any source can share this number.
        #expect(origins.numbers(named: []) == [last])
    }
}
