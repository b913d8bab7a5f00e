// SPDX-License-Identifier: Apache-2.0

/// What the output is written to: its colours, or none, and its width.
struct Palette {
    /// Whether output goes to a terminal that takes colours.
    let isEnabled: Bool

    /// The width of the terminal in characters; nil if lines may have any length.
    var width: Int?

    /// Makes the palette of a terminal, or of a file.
    init(isEnabled: Bool, width: Int? = nil) {
        self.isEnabled = isEnabled
        self.width = width
    }

    /// What a piece of text means, from which its colour follows.
    enum Tone: String {
        case plain = ""
        case heading = "1"
        case good = "32"
        case doubtful = "33"
        case bad = "31"
        case faint = "2"
    }

    /// The text in the colour of its meaning.
    func paint(_ text: String, _ tone: Tone) -> String {
        isEnabled && tone != .plain && !text.isEmpty
            ? "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m" : text
    }
}
