// SPDX-License-Identifier: Apache-2.0
private import Glibc
package import Net

@ServiceLoop
package struct ControlSocket {
    package let listener: StreamListener
    package let access: ControlAccess
    package let warning: String?
    private let file: (path: String, device: dev_t, inode: ino_t)?

    /// False if the socket file was removed or replaced; clients then cannot connect.
    package var isInPlace: Bool {
        guard let file, let now = Self.status(of: file.path) else { return false }
        return now.st_dev == file.device && now.st_ino == file.inode
    }

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
            warning: socket.warning,
            file: status(of: path).map { (path, $0.st_dev, $0.st_ino) }
        )
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        // SAFETY: the path is a C string; one structure is filled.
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
