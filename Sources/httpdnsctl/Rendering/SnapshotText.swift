// SPDX-License-Identifier: Apache-2.0
import Control

enum SnapshotText {
    /// - Parameter showsError: false for `status`, which shows the error in its list of problems.
    static func cell(_ snapshot: SnapshotStatus, showsError: Bool = true) -> Table.Cell {
        let contents =
            snapshot.ageSeconds.map { age in
                "\(Units.count(snapshot.entries, "entry", "entries")),"
                    + " \(Units.octets(snapshot.octets)), \(Units.seconds(age)) old"
            } ?? "none yet"
        guard let error = snapshot.lastError, showsError else {
            return Table.Cell(
                "\(contents), file \(printable(snapshot.path))",
                snapshot.lastError == nil ? .plain : .doubtful
            )
        }
        return Table.Cell("\(contents); \(printable(error))", .doubtful)
    }
}
