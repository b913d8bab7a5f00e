// SPDX-License-Identifier: Apache-2.0
private import Glibc
package import Net

/// Open control socket.
@ServiceLoop
package struct ControlSocket {
    /// Listener for clients.
    package let listener: StreamListener

    /// Permission to make changes.
    package let access: ControlAccess

    /// Warning about a setting that could not be applied; the socket is usable.
    package let warning: String?

    /// Opens the socket like `GroupSocket.open`, and determines the permission to make changes.
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
