// SPDX-License-Identifier: Apache-2.0
import Control

/// What the kernel answers, for people.
enum AccelerationText {
    /// One line of a screen.
    static func cell(_ status: AccelerationStatus) -> Table.Cell {
        let why = status.why.map { " (\(printable($0)))" } ?? ""
        let numbers =
            "\(Units.count(status.entries, "entry", "entries")),"
            + " \(Units.count(status.answers, "answer", "answers"))"
        return switch status.state {
        case .on: Table.Cell("answers over loopback: \(numbers)", .good)
        case .resting: Table.Cell("resting\(why): \(numbers)", .doubtful)
        case .off: Table.Cell("does not answer\(why)")
        }
    }
}
