// SPDX-License-Identifier: Apache-2.0
private import Glibc
package import Net

/// A Unix socket for the members of a group, as it came to be.
@ServiceLoop
package struct GroupSocket {
    /// Where clients connect.
    package let listener: StreamListener

    /// The group that its file has.
    package let group: UInt32

    /// What is not as the settings ask, in a sentence; the socket works all the same.
    package let warning: String?

    /// Listens at `path`, with the group of the settings if it can be had.
    ///
    /// Without it the socket stays with the daemon's own user and group, which lets fewer people
    /// in, never more.
    ///
    /// - Parameters:
    ///   - what: whose socket it is, such as `control`.
    ///   - mode: the permissions of the file, such as 0o660.
    ///   - group: a name in `/etc/group` or a number; nil to leave the file's group.
    ///   - groupFile: where groups are looked up.
    /// - Throws: `SocketError`, as the listener does.
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
                warning: "there is no group \(group), so the \(what) socket is for root and the "
                    + "daemon's own user; groupadd --system \(group) makes one"
            )
        }
        do throws(SocketError) {
            return try listen(path, mode, number, warning: nil)
        } catch .system(call: "chown", code: EPERM), .system(call: "chown", code: EINVAL) {
            // The latter in a user namespace that does not have the group (`PrivateUsers=`).
            return try listen(
                path,
                mode,
                nil,
                warning: "the daemon may not give the \(what) socket to group \(group), as it is "
                    + "no member of it; it stays with the daemon's own group"
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
            group: group ?? getegid(),
            warning: warning
        )
    }
}
