// SPDX-License-Identifier: Apache-2.0

enum ExitStatus: Int32 {
    case ok = 0
    /// The command failed or found nothing.
    case failed = 1
    case usage = 2
    case unreachable = 3
    /// `status` or `doctor` found problems, or `prove` found a difference.
    case degraded = 4
}

struct Failure: Error, Equatable {
    /// One line; it can contain text from an attacker.
    var message: String

    var hint: String?
    var status: ExitStatus

    var error: String?

    /// True if the reply that was printed as JSON already contains the failure.
    var isInReply = false

    init(message: String, hint: String? = nil, status: ExitStatus = .failed, error: String? = nil) {
        self.message = message
        self.hint = hint
        self.status = status
        self.error = error
    }

    struct Report: Encodable {
        struct Fault: Encodable {
            let name: String
            let message: String
            let hint: String?
        }

        let error: Fault
    }

    var json: String {
        let name = error ?? "\(status)"
        let report = Report(error: Report.Fault(name: name, message: message, hint: hint))
        return ((try? JSONOutput.text(report, indented: false)) ?? "{}") + "\n"
    }

    var text: String {
        let first = "httpdnsctl: " + printable(message)
        return hint.map { first + "\nhint: " + printable($0) } ?? first
    }
}
