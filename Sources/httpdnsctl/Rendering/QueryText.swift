// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

/// `watch` for people: a line for each query.
enum QueryText {
    /// The title of each column and its width in characters; the last one has none.
    private static let columns = [
        ("TIME", 12), ("TOOK", 9), ("RCODE", 9), ("TYPE", 6), ("NAME", 39), ("FROM", 0),
    ]

    /// The line above the queries.
    static let heading = line(columns.map(\.0)) + "\n"

    /// The cells of a line in their columns.
    private static func line(_ cells: [String]) -> String {
        zip(cells, columns).map { cell, column in cell.padded(column.1) }.joined(separator: " ")
    }

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
        let over = query.transport == "tcp" ? " over TCP" : ""
        let cells = [
            time(query.timeMs), Units.microseconds(UInt64(query.tookUs)), query.rcode, query.type,
            query.name, "\(query.from) to \(query.client)\(over)\(end)",
        ]
        return palette.paint(printable(line(cells)), tone) + "\n"
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
    /// The source of the answer, and of one from the cache the server that gave it.
    var from: String {
        guard let server, source == "cache" || source == "stale" else { return server ?? source }
        return "\(source) (\(server))"
    }
}
