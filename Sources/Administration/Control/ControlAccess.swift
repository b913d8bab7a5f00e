// SPDX-License-Identifier: Apache-2.0
package import Net

/// Permission to make changes through the control socket.
///
/// The kernel enforces mode and group of the socket file for connecting. If only the group may
/// connect, every peer may make changes. If all users may connect, changes need root, the daemon's
/// user, or the socket's group as primary group. Names are not resolved: NSS could need this
/// daemon.
package struct ControlAccess: Sendable, Equatable {
    /// Lets all users connect.
    private static let writableByOthers: UInt32 = 0o002

    package let mode: UInt32

    /// Nil if unknown: then no group may make changes.
    package let group: UInt32?

    /// User ID of the daemon.
    package let owner: UInt32

    package init(mode: UInt32, group: UInt32?, owner: UInt32) {
        self.mode = mode
        self.group = group
        self.owner = owner
    }

    /// Returns true if a peer may make changes.
    package func mayChange(_ peer: StreamConnection.Credentials) -> Bool {
        mode & Self.writableByOthers == 0 || peer.uid == 0 || peer.uid == owner
            || peer.gid == group
    }
}
