// SPDX-License-Identifier: Apache-2.0
private import Glibc
package import Net

/// The control socket as it came to be.
@ServiceLoop
package struct ControlSocket {
    /// Where clients connect.
    package let listener: StreamListener

    /// Who may change something through it.
    package let access: ControlAccess

    /// What is not as the settings ask, in a sentence; the socket works all the same.
    package let warning: String?

    /// Listens at `path`, with the group of the settings if it can be had.
    ///
    /// Without it the socket stays with the daemon's own user and group, which lets fewer people
    /// in, never more.
    ///
    /// - Parameters:
    ///   - mode: the permissions of the file, such as 0o660.
    ///   - group: a name in `/etc/group` or a number; nil to leave the file's group.
    ///   - groupFile: where groups are looked up.
    /// - Throws: `SocketError`, as the listener does.
    package static func open(
        path: String,
        mode: UInt32,
        group: String?,
        groupFile: String = "/etc/group"
    ) throws(SocketError) -> ControlSocket {
        guard let group else { return try listen(path, mode, nil, warning: nil) }
        guard let number = GroupFile.number(of: group, path: groupFile) else {
            return try listen(
                path,
                mode,
                nil,
                warning: "there is no group \(group), so the control socket is for root and the "
                    + "daemon's own user; groupadd --system \(group) makes one"
            )
        }
        do throws(SocketError) {
            return try listen(path, mode, number, warning: nil)
        } catch .system(call: "chown", code: EPERM) {
            return try listen(
                path,
                mode,
                nil,
                warning: "the daemon may not give the control socket to group \(group), as it is "
                    + "no member of it; it stays with the daemon's own group"
            )
        }
    }

    /// Listens, and notes who may do what.
    private static func listen(
        _ path: String,
        _ mode: UInt32,
        _ group: UInt32?,
        warning: String?
    ) throws(SocketError) -> ControlSocket {
        ControlSocket(
            listener: try StreamListener(unixPath: path, mode: mode, group: group),
            access: ControlAccess(mode: mode, group: group ?? getegid(), owner: geteuid()),
            warning: warning
        )
    }
}
