// SPDX-License-Identifier: Apache-2.0

struct Palette {
    let isEnabled: Bool
    var width: Int?

    enum Tone: String {
        case plain = ""
        case heading = "1"
        case good = "32"
        case doubtful = "33"
        case bad = "31"
        case faint = "2"
    }

    func paint(_ text: String, _ tone: Tone) -> String {
        isEnabled && tone != .plain && !text.isEmpty
            ? "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m" : text
    }

    func line(_ text: String, _ tone: Tone = .plain, indent: Int = 4) -> String {
        wrapped(printable(text), to: width, indent: indent).split(
            separator: "\n",
            omittingEmptySubsequences: false
        ).map { paint(String($0), tone) + "\n" }.joined()
    }
}
