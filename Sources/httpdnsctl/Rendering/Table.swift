// SPDX-License-Identifier: Apache-2.0

struct Table {
    struct Column {
        let title: String
        let isNumeric: Bool
    }

    struct Cell: ExpressibleByStringLiteral {
        let text: String
        let tone: Palette.Tone

        init(_ text: String, _ tone: Palette.Tone = .plain) {
            self.text = printable(text)
            self.tone = tone
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    private let columns: [Column]
    private var rows: [(cells: [Cell], notes: [String])] = []

    // MARK: - Making

    /// The prefix `>` marks a numeric column.
    init(_ titles: String...) { self.init(titles) }

    init(_ titles: [String]) {
        columns = titles.map { title in
            title.hasPrefix(">")
                ? Column(title: String(title.dropFirst()), isNumeric: true)
                : Column(title: title, isNumeric: false)
        }
    }

    // MARK: - Changing

    mutating func add(_ contents: any TableContent..., notes: [String] = []) {
        precondition(contents.count == columns.count, "a row has one cell per column")
        rows.append((contents.map(\.cell), notes.map(printable)))
    }

    // MARK: - Reading

    var isEmpty: Bool { rows.isEmpty }

    func text(_ palette: Palette) -> String {
        guard !rows.isEmpty else { return "" }
        let widths = columns.indices.map { column in
            rows.reduce(columns[column].title.count) { width, row in
                max(width, row.cells[column].text.count)
            }
        }
        var text = ""
        if columns.contains(where: { !$0.title.isEmpty }) {
            text += lines(columns.map { Cell($0.title, .heading) }, widths, palette)
        }
        for row in rows {
            text += lines(row.cells, widths, palette)
            for note in row.notes {
                text += wrapped("    " + note, to: palette.width, indent: 6) + "\n"
            }
        }
        return text
    }

    private func lines(_ cells: [Cell], _ widths: [Int], _ palette: Palette) -> String {
        let widest = widths.reduce(0) { $0 + $1 + 2 } - 2
        guard let width = palette.width, widest > width else { return line(cells, widths, palette) }
        var text = ""
        var column = 0
        for (index, cell) in cells.enumerated() where !cell.text.isEmpty {
            let start = widths[..<index].reduce(0) { $0 + $1 + 2 }
            let offset =
                start + (columns[index].isNumeric ? widths[index] - cell.text.count : 0)
            if column <= offset, offset + cell.text.count <= width {
                text += String(repeating: " ", count: offset - column)
                text += palette.paint(cell.text, cell.tone)
                column = offset + cell.text.count
                continue
            }
            let isLast = cells[(index + 1)...].allSatisfy(\.text.isEmpty)
            let longest = cell.text.split(separator: " ").map(\.count).max() ?? 0
            if isLast, column <= offset, start + longest <= width {
                let pieces = wrapped(cell.text, to: width - start, indent: 0).split(separator: "\n")
                text += String(repeating: " ", count: start - column)
                text += pieces.map { palette.paint(String($0), cell.tone) }.joined(
                    separator: "\n" + String(repeating: " ", count: start)
                )
                continue
            }
            let gap = column == 0 ? 0 : 2
            if column + gap + cell.text.count <= width {
                text += String(repeating: " ", count: gap) + palette.paint(cell.text, cell.tone)
                column += gap + cell.text.count
                continue
            }
            let piece = wrapped("    " + cell.text, to: width, indent: 4)
            let pieces = piece.split(separator: "\n", omittingEmptySubsequences: false)
            for piece in pieces {
                if column > 0 { text += "\n" }
                text += "    " + palette.paint(String(piece.dropFirst(4)), cell.tone)
                column = piece.count
            }
        }
        return text + "\n"
    }

    private func line(_ cells: [Cell], _ widths: [Int], _ palette: Palette) -> String {
        var text = ""
        var gap = 0
        for (index, cell) in cells.enumerated() {
            let padding = widths[index] - cell.text.count
            let before = columns[index].isNumeric ? padding : 0
            if cell.text.isEmpty {
                gap += widths[index] + 2
                continue
            }
            text +=
                String(repeating: " ", count: gap + before) + palette.paint(cell.text, cell.tone)
            gap = padding - before + 2
        }
        return text + "\n"
    }
}

/// Content of a cell: a `String`, or a `Cell`, which has a color.
protocol TableContent {
    var cell: Table.Cell { get }
}

extension String: TableContent {
    var cell: Table.Cell { Table.Cell(self) }
}

extension Table.Cell: TableContent {
    var cell: Table.Cell { self }
}
