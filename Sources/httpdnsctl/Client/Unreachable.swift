// SPDX-License-Identifier: Apache-2.0
import Glibc

enum Unreachable {
    static let adviceOnGroupRoot =
        "use sudo; for access without sudo: groupadd --system httpdns && usermod -aG httpdns USER "
        + "&& systemctl restart httpdnsd, then log in again"

    static func connecting(to path: String, error: Int32) -> Failure {
        let status = FileTree().status(FileTree.absolute(path), follows: true)
        let kind = status.map { $0.st_mode & S_IFMT } ?? S_IFSOCK
        return switch error {
        case ENOENT, ENOTDIR:
            failure(
                "there is no socket \(path)",
                hint: "start httpdnsd if it does not run (systemctl status httpdnsd); set --socket "
                    + "to the path of control.socket in the settings; if the socket file was "
                    + "removed, run systemctl restart httpdnsd"
            )
        case ECONNREFUSED where kind != S_IFSOCK:
            failure(
                "\(path) is " + (kind == S_IFDIR ? "a directory, not a socket" : "not a socket"),
                hint: "set --socket to the path of control.socket in the settings"
            )
        case ECONNREFUSED:
            failure(
                "nothing listens on \(path)",
                hint: "httpdnsd has stopped: systemctl status httpdnsd, journalctl -u httpdnsd"
            )
        case EACCES, EPERM:
            failure(
                "permission denied: \(path)",
                hint: status?.st_gid == 0
                    ? adviceOnGroupRoot
                    : "use sudo, or join the group that owns the socket (ls -l \(path))"
            )
        case EAGAIN:
            failure(
                "the daemon accepts no connection on \(path)",
                hint: "the daemon hangs or is overloaded: journalctl -u httpdnsd"
            )
        default: failure("cannot connect to \(path): \(systemMessage(error))", hint: nil)
        }
    }

    static func talking(to path: String, error: Int32) -> Failure {
        error == EPIPE || error == ECONNRESET
            ? closed(path)
            : failure("lost the connection to \(path): \(systemMessage(error))", hint: nil)
    }

    static func closed(_ path: String) -> Failure {
        failure(
            "the daemon closed the connection on \(path) without a reply",
            hint: "the daemon is stopping, or has too many control clients"
        )
    }

    static func silent(_ path: String, after timeout: Duration) -> Failure {
        failure(
            "no reply on \(path) within \(timeout.components.seconds) s",
            hint: "the daemon hangs or is overloaded: journalctl -u httpdnsd"
        )
    }

    private static func failure(_ message: String, hint: String?) -> Failure {
        Failure(message: message, hint: hint, status: .unreachable)
    }
}
