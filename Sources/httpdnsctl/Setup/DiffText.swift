// SPDX-License-Identifier: Apache-2.0

/// Difference between two states of a path, in the format of `diff -u`.
enum DiffText {
    /// Maximum number of lines to compare; if a text has more lines, all lines count as changed.
    private static let maximumLines = 2000

    private static let context = 3

    private struct Line {
        var sign: Character
        var text: String
    }

    static func lines(_ path: String, from old: FileState, to new: FileState) -> [String] {
        var lines = [
            "--- " + (old.kind == .absent ? "/dev/null" : path),
            "+++ " + (new.kind == .absent ? "/dev/null" : path),
        ]
        if old.kind == .link { lines.append("-(link to \(old.target))") }
        if new.kind == .link { lines.append("+(link to \(new.target))") }
        let all = edits(Self.split(old), Self.split(new))
        let changed = all.indices.filter { all[$0].sign != " " }
        for index in all.indices
        where changed.contains(where: { abs($0 - index) <= context }) {
            lines.append(String(all[index].sign) + all[index].text)
        }
        return lines
    }

    private static func split(_ state: FileState) -> [String] {
        guard state.kind == .file else { return [] }
        var lines = state.text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map(String.init)
    }

    private static func edits(_ old: [String], _ new: [String]) -> [Line] {
        guard old.count + new.count <= maximumLines else {
            return old.map { Line(sign: "-", text: $0) } + new.map { Line(sign: "+", text: $0) }
        }
        // `common[i][j]`: length of the longest common subsequence of `old[i...]` and `new[j...]`.
        let empty = [Int](repeating: 0, count: new.count + 1)
        var common = [[Int]](repeating: empty, count: old.count + 1)
        for left in old.indices.reversed() {
            for right in new.indices.reversed() {
                common[left][right] =
                    old[left] == new[right]
                    ? common[left + 1][right + 1] + 1
                    : max(common[left + 1][right], common[left][right + 1])
            }
        }
        var (left, right) = (0, 0)
        var lines: [Line] = []
        while left < old.count || right < new.count {
            if left < old.count, right < new.count, old[left] == new[right] {
                lines.append(Line(sign: " ", text: old[left]))
                (left, right) = (left + 1, right + 1)
            } else if right == new.count
                || left < old.count && common[left + 1][right] >= common[left][right + 1]
            {
                lines.append(Line(sign: "-", text: old[left]))
                left += 1
            } else {
                lines.append(Line(sign: "+", text: new[right]))
                right += 1
            }
        }
        return lines
    }
}
