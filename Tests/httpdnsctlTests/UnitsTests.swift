// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import httpdnsctl

@Suite("Numbers with units")
struct UnitsTests {
    @Test(
        "a count has separators of thousands",
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1234, "-1,234"),
        ]
    )
    func counts(_ value: Int, _ text: String) { #expect(Units.count(value) == text) }

    @Test("a noun is singular only after a count of 1")
    func plural() {
        #expect(Units.count(1, "entry", "entries") == "1 entry")
        #expect(Units.count(0, "entry", "entries") == "0 entries")
    }

    @Test(
        "a memory size has a binary unit",
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1.0 MiB"),
            (1_048_576, "1.0 MiB"), (67_108_864, "64.0 MiB"), (UInt64.max, "16777216.0 TiB"),
        ] as [(UInt64, String)]
    )
    func octets(_ value: UInt64, _ text: String) { #expect(Units.octets(value) == text) }

    @Test(
        "a short duration is in µs, ms or s",
        arguments: [
            (0, "0 µs"), (999, "999 µs"), (1000, "1.0 ms"), (18_249, "18.2 ms"),
            (999_949, "999.9 ms"), (999_950, "1.00 s"), (1_250_000, "1.25 s"),
        ] as [(UInt64, String)]
    )
    func microseconds(_ value: UInt64, _ text: String) {
        #expect(Units.microseconds(value) == text)
    }

    @Test(
        "a long duration has at most two units",
        arguments: [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"),
            (3659, "1 h"), (275_460, "3 d 4 h"), (86_400 + 59, "1 d"), (-5, "-5 s"),
        ]
    )
    func seconds(_ value: Int, _ text: String) { #expect(Units.seconds(value) == text) }

    @Test(
        "a decimal is rounded; infinity, NaN and too large values are shown as a hyphen",
        arguments: [
            (0, 1, "0.0"), (0.05, 1, "0.1"), (-0.25, 2, "-0.25"), (12.345, 0, "12"),
            (.infinity, 1, "-"), (.nan, 1, "-"), (1e300, 1, "-"),
        ] as [(Double, Int, String)]
    )
    func decimals(_ value: Double, _ digits: Int, _ text: String) {
        #expect(Units.decimal(value, digits: digits) == text)
    }

    @Test("if the total is 0, the percentage is shown as a hyphen")
    func percent() {
        #expect(Units.percent(1, of: 3) == "33.3 %")
        #expect(Units.percent(0, of: 0) == "-")
        #expect(Units.milliseconds(.nan) == "-")
        #expect(Units.milliseconds(18.25) == "18.3 ms")
    }
}
