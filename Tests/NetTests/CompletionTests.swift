// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Net

@Suite("A completion handler")
struct CompletionTests {
    @Test
    func `in a debug build, a completion handler that is released without a call traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = Completion<Int> { _ in }
        }
    }

    @Test
    @ServiceLoop
    func `the result of an earlier step reaches the handler through later steps`() {
        var seen: [String] = []
        let completion = Completion<String> { seen.append($0) }
        let earlier = completion.after { (number: Int, completion) in
            seen.append("step")
            completion("\(number)")
        }
        earlier(7)
        #expect(seen == ["step", "7"])
    }
}
