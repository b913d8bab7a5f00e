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

    /// Listens at `path`, as `GroupSocket` does, and notes who may do what.
    package static func open(
        path: String,
        mode: UInt32,
        group: String?,
        groupFile: String = "/etc/group"
    ) throws(SocketError) -> ControlSocket {
        let socket = try GroupSocket.open(
            "control",
            path: path,
            mode: mode,
            group: group,
            groupFile: groupFile
        )
        return ControlSocket(
            listener: socket.listener,
            access: ControlAccess(mode: mode, group: socket.group, owner: geteuid()),
            warning: socket.warning
        )
    }
}
