// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Resolver

@Suite("Sources of answers")
struct AnswerSourceTests {
    @Test(
        "if all numbers are used, further sources share the number of a learned, unprotected source"
    )
    func exhausted() {
        let origins = AnswerSourceRegistry()
        let first = origins.number("network/udp://192.0.2.1")
        for number in 0..<70_000 { _ = origins.number("network/udp://server-\(number)") }
        let last = origins.number("network/udp://192.0.2.2")
        #expect(last == AnswerSourceRegistry.unknown)
        #expect(origins.isLearned(last) && origins.isUnprotected(last))
        #expect(origins.number("network/udp://192.0.2.1") == first)
        #expect(origins.number(labelled: origins.label(last)) == last)
        // A change of the network therefore removes the answers of the unknown source.
        #expect(origins.numbers(named: []) == [last])
    }
}
