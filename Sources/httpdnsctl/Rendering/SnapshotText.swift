// SPDX-License-Identifier: Apache-2.0
import Control

enum SnapshotText {
    static func cell(_ snapshot: SnapshotStatus) -> Table.Cell {
        let contents =
            snapshot.ageSeconds.map { age in
                "\(Units.count(snapshot.entries, "entry", "entries")),"
                    + " \(Units.octets(snapshot.octets)), \(Units.seconds(age)) old"
            } ?? "none yet"
        guard let error = snapshot.lastError else {
            return Table.Cell("\(contents), file \(printable(snapshot.path))")
        }
        return Table.Cell("\(contents); \(printable(error))", .doubtful)
    }
}
