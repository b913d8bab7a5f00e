// SPDX-License-Identifier: Apache-2.0

/// Exit codes of the program.
enum ExitStatus: Int32 {
    case ok = 0
    /// The command failed or found nothing.
    case failed = 1
    /// The command line is wrong; the daemon was not called.
    case usage = 2
    /// The daemon could not be reached.
    case unreachable = 3
    /// `status` and `doctor` only: there are problems.
    case degraded = 4
}

/// Failure of a command.
struct Failure: Error, Equatable {
    /// Cause, one line; may contain text of the daemon or the command line.
    var message: String

    var hint: String?

    var status: ExitStatus

    /// Name of the daemon's error, such as `io.httpdnsd.Control.NotFound`; nil for other failures.
    var error: String?

    /// True if the printed reply already reports the failure, so that `--json` prints no error
    /// object.
    var isInReply = false

    init(message: String, hint: String? = nil, status: ExitStatus, error: String? = nil) {
        self.message = message
        self.hint = hint
        self.status = status
        self.error = error
    }

    /// JSON form of a failure.
    struct Report: Encodable {
        /// Error object.
        struct Fault: Encodable {
            /// Name of the daemon's error, or `usage`, `unreachable` or `failed`.
            let name: String
            let message: String
            let hint: String?
        }

        let error: Fault
    }

    /// Line for standard output with `--json`.
    var json: String {
        let name = error ?? "\(status)"
        let report = Report(error: Report.Fault(name: name, message: message, hint: hint))
        // The encoding of strings cannot fail.
        return ((try? JSONOutput.text(report, indented: false)) ?? "{}") + "\n"
    }

    /// Lines for standard error, safe to print on a terminal.
    var text: String {
        let first = "httpdnsctl: " + printable(message)
        return hint.map { first + "\nhint: " + printable($0) } ?? first
    }
}
