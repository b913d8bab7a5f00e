// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@Suite("The last lines of a log")
struct FlightRecorderTests {
    @Test("the recorder keeps the order of the lines, and stores whether each line was logged")
    func order() {
        let recorder = FlightRecorder()
        #expect(recorder.lines == [])
        recorder.note("one", isShown: false)
        recorder.note("", isShown: true)
        recorder.note("three", isShown: true)
        #expect(recorder.lines.map(\.text) == ["one", "", "three"])
        #expect(recorder.lines.map(\.isShown) == [false, true, true])
    }

    @Test("a full recorder drops the oldest line first", arguments: [2047, 2048, 2049, 10_000])
    func bound(_ count: Int) {
        let recorder = FlightRecorder()
        for number in 0..<count { recorder.note("line \(number)", isShown: false) }
        let first = max(0, count - 2048)
        #expect(recorder.lines.map(\.text) == (first..<count).map { "line \($0)" })
    }

    @Test("a long line is cut between two UTF-8 characters")
    func long() {
        let recorder = FlightRecorder()
        for count in 248...252 {
            let start = String(repeating: "x", count: count)
            recorder.note(start + "€ and more", isShown: false)
            #expect(
                recorder.lines.last?.text == start + (count + 3 <= 252 ? "€" : "").prefix(1)
                    + String(" and more".prefix(max(0, 252 - count - 3)))
            )
        }
    }
}
