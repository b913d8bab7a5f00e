// SPDX-License-Identifier: Apache-2.0
package import Net

/// Permission to make changes; see "Permissions" in the specification of the protocol.
///
/// Supplementary groups are not looked up, because NSS may query this daemon.
package struct ControlAccess: Sendable, Equatable {
    private static let writableByOthers: UInt32 = 0o002
    package let mode: UInt32
    package let group: UInt32?
    package let owner: UInt32

    package func mayChange(_ peer: StreamConnection.Credentials) -> Bool {
        mode & Self.writableByOthers == 0 || peer.uid == 0 || peer.uid == owner
            || peer.gid == group
    }
}
