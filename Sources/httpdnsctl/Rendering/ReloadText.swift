// SPDX-License-Identifier: Apache-2.0
import Control

/// `reload` and `check` for people.
enum ReloadText {
    /// What has changed, or would; nothing if the settings are wrong.
    static func render(_ reply: ReloadReply, _ palette: Palette) -> String {
        guard reply.problems.isEmpty else { return "" }
        var lines = reply.warnings.map { palette.paint("warning: \(text($0))", .doubtful) }
        lines += reply.changes.map { line($0, palette) }
        lines += reply.needsRestart.map { option in
            palette.paint("needs a restart: \(printable(option))", .doubtful)
        }
        lines.append(summary(reply))
        lines += (reply.notes ?? []).map { palette.paint("note: \(printable($0))", .faint) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Tells on standard error what is wrong.
    ///
    /// - Throws: `Failure` unless `isWell`, saying `end`.
    static func complain(
        _ reply: ReloadReply,
        _ end: String,
        unless isWell: Bool
    ) throws(Failure) {
        guard !isWell else { return }
        for problem in reply.problems { Output.error(text(problem)) }
        var failure = Failure(message: end, status: .failed)
        failure.isInReply = true
        throw failure
    }

    private static func summary(_ reply: ReloadReply) -> String {
        let removed = Units.count(UInt64(clamping: reply.removedAnswers), "answer", "answers")
        let tail = reply.removedAnswers > 0 ? "; \(removed) removed from the cache" : ""
        let isSame = reply.changes.isEmpty
        return reply.applied
            ? (isSame ? "reloaded, nothing changed" : "reloaded") + tail
            : isSame ? "ok, a reload would change nothing" : "ok, a reload would change this"
    }

    /// A change as a line: what was added behind a plus, what was removed behind a minus.
    private static func line(_ change: SettingChange, _ palette: Palette) -> String {
        let path = printable(change.path)
        let (old, new) = (printable(change.old ?? ""), printable(change.new ?? ""))
        return switch change.kind {
        case .added: palette.paint("+ \(path): \(new)", .good)
        case .removed: palette.paint("- \(path): \(old)", .bad)
        case .changed: "  \(path): \(old) -> \(new)"
        case .secret: "  \(path): another secret"
        }
    }

    /// The form `file:line:column: message (hint)`, as `httpdnsd --check` prints it.
    private static func text(_ complaint: SettingsComplaint) -> String {
        let place =
            complaint.line == 0
            ? complaint.file : "\(complaint.file):\(complaint.line):\(complaint.column)"
        let hint = complaint.hint.map { " (\($0))" } ?? ""
        return printable("\(place): \(complaint.message)\(hint)")
    }
}
