// SPDX-License-Identifier: Apache-2.0
private import Glibc
package import Net

/// Listening Unix socket to which the members of a group can connect.
@ServiceLoop
package struct GroupSocket {
    package let listener: StreamListener
    package let mode: UInt32
    package let group: UInt32

    /// Warning if the configured group could not be set; otherwise nil.
    package let warning: String?

    package var access: ControlAccess {
        ControlAccess(mode: mode, group: group, owner: geteuid())
    }

    /// Opens a Unix socket; if its group cannot be set, the socket has the daemon's group.
    ///
    /// - Parameter group: name or numeric ID; if nil, the daemon's group.
    package static func open(
        _ what: String,
        path: String,
        mode: UInt32,
        group: String?,
        groupFile: String = "/etc/group"
    ) throws(SocketError) -> GroupSocket {
        guard let group else { return try listen(path, mode, nil, warning: nil) }
        guard let number = GroupFile.number(of: group, path: groupFile) else {
            return try listen(
                path,
                mode,
                nil,
                warning: "group \(group) does not exist: only root and the daemon's user can "
                    + "use the \(what) socket; run `groupadd --system \(group)`"
            )
        }
        do throws(SocketError) {
            return try listen(path, mode, number, warning: nil)
        } catch .system(call: "chown", code: EPERM), .system(call: "chown", code: EINVAL) {
            // EINVAL: the daemon's user namespace (`PrivateUsers=`) does not contain the group.
            return try listen(
                path,
                mode,
                nil,
                warning: "cannot give the \(what) socket to the group \(group): the daemon's user "
                    + "is not a member of the group; the socket keeps the daemon's group"
            )
        }
    }

    private static func listen(
        _ path: String,
        _ mode: UInt32,
        _ group: UInt32?,
        warning: String?
    ) throws(SocketError) -> GroupSocket {
        GroupSocket(
            listener: try StreamListener(unixPath: path, mode: mode, group: group),
            mode: mode,
            group: group ?? getegid(),
            warning: warning
        )
    }
}
