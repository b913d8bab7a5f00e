// SPDX-License-Identifier: Apache-2.0
package import Net

/// Permission to make changes through the control socket.
///
/// The kernel enforces mode and group of the socket file for connecting.  If the mode excludes
/// other users, every connected peer may make changes.  If it admits all users, changes need root,
/// the daemon's user, or the socket's group as primary group.  User and group names are not
/// resolved: NSS could use the network, and so depend on this daemon.
package struct ControlAccess: Sendable, Equatable {
    /// Mode bit that lets all users connect.
    private static let writableByOthers: UInt32 = 0o002

    /// Mode of the socket file.
    package let mode: UInt32

    /// Group of the socket file; nil if unknown: then no group may make changes.
    package let group: UInt32?

    /// User ID of the daemon.
    package let owner: UInt32

    /// Makes the permission of a socket.
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
