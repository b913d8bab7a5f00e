// SPDX-License-Identifier: Apache-2.0
internal import Net
internal import Resolver

/// Connection from the hosts file reader to the resolver; stores the latest table.
@ServiceLoop
final class HostsRelay {
    private(set) var table = HostsTable()

    /// Receives each later table.
    var use: (@ServiceLoop (HostsTable) -> Void)?

    func take(_ table: HostsTable) {
        self.table = table
        use?(table)
    }
}
