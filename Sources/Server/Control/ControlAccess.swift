// SPDX-License-Identifier: Apache-2.0
package import Net

/// Who may change something through the control socket.
///
/// Who may connect is the file's mode and group, which the kernel enforces.  As long as they keep
/// everybody else out, who got in may do everything.  Once the mode lets everybody in, changes are
/// for root, for the user the daemon runs as, and for peers whose primary group is the socket's.
/// No name of a user or a group is looked up: that could ask the network, and so this daemon.
package struct ControlAccess: Sendable, Equatable {
    /// The bit of a mode that lets everybody connect.
    private static let writableByOthers: UInt32 = 0o002

    /// The mode of the socket's file.
    package let mode: UInt32

    /// The group of the socket's file; nil if it is not known, then no group may change anything.
    package let group: UInt32?

    /// The user the daemon runs as.
    package let owner: UInt32

    /// Makes the rule for a socket.
    package init(mode: UInt32, group: UInt32?, owner: UInt32) {
        self.mode = mode
        self.group = group
        self.owner = owner
    }

    /// Whether a peer may change something.
    package func mayChange(_ peer: StreamConnection.Credentials) -> Bool {
        mode & Self.writableByOthers == 0 || peer.uid == 0 || peer.uid == owner
            || peer.gid == group
    }
}
