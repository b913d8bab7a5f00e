// SPDX-License-Identifier: Apache-2.0
import Control

enum ReloadText {
    static func render(_ reply: ReloadReply, _ palette: Palette) -> String {
        guard reply.problems.isEmpty else { return "" }
        var text = ""
        for warning in reply.warnings {
            text += palette.line("warning: \(printable("\(warning)"))", .doubtful)
        }
        for change in reply.changes { text += line(change, palette) }
        for option in reply.needsRestart {
            text += palette.line("needs a restart: \(option)", .doubtful)
        }
        text += summary(reply) + "\n"
        for note in reply.notes ?? [] { text += palette.line("note: \(note)", .faint) }
        return text
    }

    static func complain(_ reply: ReloadReply, _ end: String, unless isWell: Bool) throws(Failure) {
        guard !isWell else { return }
        for problem in reply.problems { Output.error(printable("\(problem)")) }
        var failure = Failure(message: end)
        failure.isInReply = true
        throw failure
    }

    private static func summary(_ reply: ReloadReply) -> String {
        let removed = Units.count(UInt64(clamping: reply.removedAnswers), "answer", "answers")
        let isSame = reply.changes.isEmpty
        guard !reply.applied else {
            let tail = reply.removedAnswers > 0 ? "; \(removed) removed from the cache" : ""
            return (isSame ? "reloaded, no changes" : "reloaded") + tail
        }
        let tail = reply.removedAnswers > 0 ? "; it would remove \(removed) from the cache" : ""
        return "ok, a reload would \(isSame ? "change nothing" : "make these changes")" + tail
    }

    private static func line(_ change: SettingChange, _ palette: Palette) -> String {
        let (path, old, new) = (change.path, change.old ?? "", change.new ?? "")
        return switch change.kind {
        case .added: palette.line("+ \(path): \(new)", .good)
        case .removed: palette.line("- \(path): \(old)", .bad)
        case .changed: palette.line("  \(path): \(old) -> \(new)")
        case .secret: palette.line("  \(path): new secret value")
        }
    }

}
