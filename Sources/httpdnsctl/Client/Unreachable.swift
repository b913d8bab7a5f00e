// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The ways in which the daemon cannot be reached, each with what to do about it.
enum Unreachable {
    /// The failure of connecting to the socket at `path`.
    static func connecting(to path: String, error: Int32) -> Failure {
        switch error {
        case ENOENT, ENOTDIR:
            failure(
                "there is no socket \(path)",
                hint: "is httpdnsd running (systemctl status httpdnsd), "
                    + "and is this its control.socket? --socket names another"
            )
        case ECONNREFUSED:
            failure(
                "nothing listens on \(path)",
                hint: "httpdnsd has stopped: systemctl status httpdnsd, journalctl -u httpdnsd"
            )
        case EACCES, EPERM:
            failure(
                "no permission for \(path)",
                hint: "use sudo, or join the group that owns the socket (ls -l \(path))"
            )
        case EAGAIN:
            failure(
                "the daemon accepts no connection on \(path)",
                hint: "it hangs or is overloaded: journalctl -u httpdnsd"
            )
        default:
            failure("cannot connect to \(path): \(systemMessage(error))", hint: nil)
        }
    }

    /// The failure of a connection that was made.
    static func talking(to path: String, error: Int32) -> Failure {
        error == EPIPE || error == ECONNRESET
            ? closed(path)
            : failure("lost the connection to \(path): \(systemMessage(error))", hint: nil)
    }

    /// The failure of a daemon that hung up without a reply.
    static func closed(_ path: String) -> Failure {
        failure(
            "the daemon closed the connection on \(path) without a reply",
            hint: "it is stopping, or serves too many control clients already"
        )
    }

    /// The failure of a daemon that does not reply.
    static func silent(_ path: String, after timeout: Duration) -> Failure {
        failure(
            "no reply on \(path) within \(timeout.components.seconds) s",
            hint: "the daemon hangs or is overloaded: journalctl -u httpdnsd"
        )
    }

    /// A failure to reach the daemon.
    private static func failure(_ message: String, hint: String?) -> Failure {
        Failure(message: message, hint: hint, status: .unreachable)
    }
}
