// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// Time such as `50ms`, `1.5s` or `800us`; a plain number means milliseconds.
struct Latency: ExpressibleByArgument, Equatable {
    let microseconds: Int

    /// Nil if the text is malformed or the time exceeds an hour.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let units = ["": 1_000.0, "ms": 1_000, "us": 1, "µs": 1, "s": 1_000_000]
        guard let factor = units[String(argument.dropFirst(digits.count))],
            let number = Double(String(digits)), number * factor <= 3_600_000_000
        else { return nil }
        microseconds = Int((number * factor).rounded())
    }
}
