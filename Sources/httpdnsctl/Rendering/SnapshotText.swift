// SPDX-License-Identifier: Apache-2.0
import Control

enum SnapshotText {
    /// - Parameter showsError: false if the error is shown elsewhere (problems of `status`).
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
