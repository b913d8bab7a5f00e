// SPDX-License-Identifier: Apache-2.0

package enum DidYouMean {
    package static let longestWord = 64

    /// Returns the candidate nearest to `word`, in any letter case; nil if no candidate is near.
    package static func closest(to word: String, among candidates: some Sequence<String>) -> String?
    {
        let typed = letters(of: word)
        guard !typed.isEmpty, typed.count <= longestWord else { return nil }
        let longer = candidates.filter { letters(of: $0).starts(with: typed) }
        if typed.count > 2, longer.count == 1 { return longer[0] }
        let bearable = typed.count < 4 ? 1 : typed.count < 8 ? 2 : 3
        let nearest =
            candidates
            .map { (word: $0, distance: distance(typed, letters(of: $0))) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }
        guard let nearest, nearest.distance <= bearable else { return nil }
        return nearest.word
    }

    package static func hint(for word: String, among candidates: some Sequence<String>) -> String? {
        closest(to: word, among: candidates).map { "did you mean `\($0)`?" }
    }

    private static func letters(of word: String) -> [Unicode.Scalar] {
        Array(word.lowercased().unicodeScalars.prefix(longestWord + 1))
    }

    private static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for (row, letter) in first.enumerated() {
            var current = [row + 1]
            for (column, other) in second.enumerated() {
                var best = min(
                    previous[column] + (letter == other ? 0 : 1),
                    previous[column + 1] + 1,
                    current[column] + 1
                )
                if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[second.count]
    }
}
