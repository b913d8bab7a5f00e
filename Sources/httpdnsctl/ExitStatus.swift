// SPDX-License-Identifier: Apache-2.0

/// What the program tells its caller.
enum ExitStatus: Int32 {
    /// The verb did what it was asked.
    case ok = 0
    /// The daemon was asked, and the answer is no.
    case failed = 1
    /// The command line is wrong; the daemon was not asked.
    case usage = 2
    /// The daemon could not be asked.
    case unreachable = 3
    /// `status` only: the daemon answers, and something needs a look.
    case degraded = 4
}

/// Why a verb did not do what it was asked.
struct Failure: Error, Equatable {
    /// What went wrong, in one line; may quote the daemon or the command line.
    var message: String

    /// What the user can do about it.
    var hint: String?

    /// What the program exits with.
    var status: ExitStatus

    /// The name of the daemon's error, such as `io.httpdnsd.Control.NotFound`; nil for others.
    var error: String?

    /// Whether the reply that is on standard output says it, so that JSON needs no error besides.
    var isInReply = false

    /// Makes a failure of its parts.
    init(message: String, hint: String? = nil, status: ExitStatus, error: String? = nil) {
        self.message = message
        self.hint = hint
        self.status = status
        self.error = error
    }

    /// The failure as an object, for `--json`.
    struct Report: Encodable {
        /// What went wrong.
        struct Fault: Encodable {
            /// The daemon's error, or `usage`, `unreachable` or `failed`.
            let name: String
            let message: String
            let hint: String?
        }

        let error: Fault
    }

    /// The line for standard output with `--json`.
    var json: String {
        let name = error ?? "\(status)"
        let report = Report(error: Report.Fault(name: name, message: message, hint: hint))
        // Strings always have a JSON form.
        return ((try? JSONOutput.text(report, indented: false)) ?? "{}") + "\n"
    }

    /// The lines for standard error, safe to print on a terminal.
    var text: String {
        let first = "httpdnsctl: " + printable(message)
        return hint.map { first + "\nhint: " + printable($0) } ?? first
    }
}
