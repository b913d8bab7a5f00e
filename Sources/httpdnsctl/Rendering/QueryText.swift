// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

enum QueryText {
    private static let columns = [
        ("TIME", 12), ("TOOK", 9), ("RCODE", 9), ("TYPE", 6), ("NAME", 35), ("FROM", 0),
    ]

    static let heading = line(columns.map(\.0)) + "\n"

    private static func line(_ cells: [String]) -> String {
        zip(cells, columns).map { cell, column in cell.padded(column.1) }.joined(separator: " ")
    }

    static func render(_ reply: WatchReply, _ palette: Palette) -> String {
        var text = ""
        for query in reply.queries { text += line(query, palette) }
        if reply.missed > 0 {
            let missed = Units.count(reply.missed, "query", "queries")
            text += palette.paint("\(missed) not shown: too many", .faint) + "\n"
        }
        return text
    }

    private static func line(_ query: QueryEvent, _ palette: Palette) -> String {
        let tone: Palette.Tone =
            switch query.rcode {
            case "noerror": .plain
            case "nodata", "nxdomain": .faint
            default: .bad
            }
        var notes = query.flags
        if let fallback = query.fallback {
            let reasons = ["empty": "no vendor address", "early": "early fallback"]
            notes.insert(reasons[fallback] ?? "no vendor answered", at: 0)
        }
        let end = notes.isEmpty ? "" : " (" + notes.joined(separator: ", ") + ")"
        let over = query.transport == "tcp" ? " over TCP" : ""
        let cells = [
            time(query.timeMs), Units.microseconds(UInt64(query.tookUs)), query.rcode, query.type,
            query.name, "\(query.from)\(end), client \(query.client)\(over)",
        ]
        return palette.line(line(cells), tone)
    }

    private static func time(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        // SAFETY: localtime_r(3) reads `seconds` and fills `parts`.
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
    /// Returns the string padded on the right, or on the left if `width` is negative.
    func padded(_ width: Int) -> String {
        let blanks = String(repeating: " ", count: max(0, abs(width) - count))
        return width < 0 ? blanks + self : self + blanks
    }
}

extension QueryEvent {
    var from: String {
        guard let server, source == "cache" || source == "stale" else { return server ?? source }
        return "\(source) (\(server))"
    }
}
