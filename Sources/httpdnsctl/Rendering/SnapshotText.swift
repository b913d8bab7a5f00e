// SPDX-License-Identifier: Apache-2.0
import Control

/// The file in which the cache survives a restart, for people.
enum SnapshotText {
    /// What it holds and since when, or what is wrong with it.
    static func cell(_ snapshot: SnapshotStatus) -> Table.Cell {
        let contents =
            snapshot.ageSeconds.map { age in
                "\(Units.count(snapshot.entries, "entry", "entries")),"
                    + " \(Units.octets(snapshot.octets)), \(Units.seconds(age)) old"
            } ?? "nothing yet"
        guard let error = snapshot.lastError else {
            return Table.Cell("\(contents), in \(printable(snapshot.path))")
        }
        return Table.Cell("\(contents); \(printable(error))", .doubtful)
    }
}
