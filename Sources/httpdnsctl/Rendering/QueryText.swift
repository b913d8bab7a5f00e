// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

/// `watch` for people: a line for each query.
enum QueryText {
    /// What stands above the lines.
    static let heading =
        "TIME          TOOK      RCODE     TYPE   NAME                                    FROM\n"

    /// The lines of one reply.
    static func render(_ reply: WatchReply, _ palette: Palette) -> String {
        var text = ""
        for query in reply.queries { text += line(query, palette) }
        if reply.missed > 0 {
            let missed = Units.count(reply.missed, "query", "queries")
            text += palette.paint("\(missed) more: too many to show", .faint) + "\n"
        }
        return text
    }

    /// One query.
    private static func line(_ query: QueryEvent, _ palette: Palette) -> String {
        let tone: Palette.Tone =
            switch query.rcode {
            case "noerror": .plain
            case "nodata", "nxdomain": .faint
            default: .bad
            }
        var notes = query.flags
        if let fallback = query.fallback {
            notes.insert(fallback == "empty" ? "vendor had none" : "no vendor answered", at: 0)
        }
        let end = notes.isEmpty ? "" : " (" + notes.joined(separator: ", ") + ")"
        let columns = [
            time(query.timeMs), Units.microseconds(UInt64(query.tookUs)).padded(9),
            query.rcode.padded(9), query.type.padded(6), query.name.padded(39),
            "\(query.origin) to \(query.client)\(query.transport == "tcp" ? " over TCP" : "")\(end)",
        ]
        return palette.paint(printable(columns.joined(separator: " ")), tone) + "\n"
    }

    /// The time of day, to the millisecond, where the reader is.
    private static func time(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        // SAFETY: reads one number and writes one structure, whose pointer is not used.
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return "-" }
        let clock = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
        let numbers = clock.map { number in
            (number < 10 ? "0" : "") + "\(number)"
        }
        let rest = "\(1000 + milliseconds % 1000)".dropFirst()
        return numbers.joined(separator: ":") + "." + rest
    }
}

extension String {
    /// The text with blanks behind it, or before it if `width` is negative, to so many characters.
    func padded(_ width: Int) -> String {
        let blanks = String(repeating: " ", count: max(0, abs(width) - count))
        return width < 0 ? blanks + self : self + blanks
    }
}

extension QueryEvent {
    /// Who answered, and who had told the cache.
    var origin: String {
        guard let server, source == "cache" || source == "stale" else { return server ?? source }
        return "\(source) (\(server))"
    }
}
