// SPDX-License-Identifier: Apache-2.0
internal import Net
internal import Resolver

/// Where a reader of hosts files leaves its tables: the latest, until somebody takes them.
@ServiceLoop
final class HostsOutlet {
    /// The latest table.
    private(set) var table = HostsTable()

    /// Is given each later one.
    var use: (@ServiceLoop (HostsTable) -> Void)?

    /// Takes a table from the reader.
    func take(_ table: HostsTable) {
        self.table = table
        use?(table)
    }
}
