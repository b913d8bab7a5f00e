// SPDX-License-Identifier: Apache-2.0
package import Net

/// Permission to make changes through the control socket.
///
/// Mode and group of the socket file limit the users that can connect. If only the group can
/// connect, every client may make changes. If other users can also connect, only these clients may
/// make changes: root, the daemon's user, and users with the socket's group as their primary group.
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
