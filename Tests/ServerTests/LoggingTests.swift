// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Server

@Suite("Lines of the log (CWE-117)")
struct LoggingTests {
    @Test(arguments: [
        ("nothing odd", "name=www.example.com.", "name=www.example.com."),
        ("other alphabets", "für 例え 😀", "für 例え 😀"),
        ("a line end", "a\nb", "a\\u{a}b"),
        ("a carriage return and a line end", "a\r\nb", "a\\u{d}\\u{a}b"),
        ("a terminal's escape", "\u{1B}[2Jx", "\\u{1b}[2Jx"),
        ("NUL and DEL", "\u{0}\u{7F}", "\\u{0}\\u{7f}"),
        ("the other control characters", "\u{85}\u{9B}31m", "\\u{85}\\u{9b}31m"),
        ("nothing", "", ""),
    ])
    func `nothing from outside ends a line or moves the cursor`(
        _ label: String,
        _ text: String,
        _ expected: String
    ) {
        #expect(StandardErrorLog.oneLine(text) == expected)
    }
}
