// SPDX-License-Identifier: Apache-2.0
import Control

enum AccelerationText {
    static func cell(_ status: AccelerationStatus) -> Table.Cell {
        let why = status.why.map { " (\(printable($0)))" } ?? ""
        let numbers =
            "\(Units.count(status.entries, "entry", "entries")) in the kernel,"
            + " \(Units.count(status.answers, "answer", "answers")) from the kernel"
        return switch status.state {
        case .on: Table.Cell("on: \(numbers)", .good)
        case .resting: Table.Cell("suspended\(why): \(numbers)", .doubtful)
        case .off: Table.Cell("off\(why)")
        }
    }
}
