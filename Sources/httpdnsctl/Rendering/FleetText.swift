// SPDX-License-Identifier: Apache-2.0
import Control

enum FleetText {
    static func cell(_ fleet: FleetStatus) -> Table.Cell {
        let since = fleet.since.map { " since \($0)" } ?? ""
        switch fleet.state {
        case .off: return Table.Cell("off")
        case .connected:
            let members = fleet.members.map { ", \(Units.count($0, "machine", "machines"))" } ?? ""
            return Table.Cell("connected to \(fleet.server ?? "?")\(since)\(members)", .good)
        case .alone:
            let why = fleet.lastError.map { ": \($0)" } ?? ""
            return Table.Cell("alone\(since)\(why)", .bad)
        }
    }

    static func stats(_ fleet: FleetStats, _ palette: Palette) -> String {
        guard fleet != FleetStats() else { return "" }
        var table = Table("FLEET", "")
        table.add(
            "reads",
            "\(Units.count(fleet.reads)), \(Units.count(fleet.found)) found,"
                + " \(Units.count(fleet.notFound)) not found"
        )
        table.add(
            "calls",
            "\(Units.count(fleet.led, "call", "calls")) made for the fleet;"
                + " \(Units.count(fleet.waited, "lookup", "lookups")) waited for calls of other"
                + " machines, \(Units.count(fleet.waitedInVain)) of these lookups got no answer"
        )
        table.add(
            "answers",
            "\(Units.count(fleet.published)) published, \(Units.count(fleet.received)) received"
        )
        table.add(
            "failures",
            Table.Cell(
                "\(Units.count(fleet.timeouts)) timeouts, \(Units.count(fleet.errors)) errors,"
                    + " \(Units.count(fleet.rejected)) rejected",
                fleet.timeouts + fleet.errors + fleet.rejected == 0 ? .plain : .doubtful
            )
        )
        return table.text(palette)
    }
}
