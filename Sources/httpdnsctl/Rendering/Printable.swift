// SPDX-License-Identifier: Apache-2.0

/// Replaces each character that could control a terminal by `\u{…}`.
///
/// Attackers can choose names and error texts.
func printable(_ text: String) -> String {
    escaped(text, unless: isPrintable) { "\\u{" + String($0.value, radix: 16) + "}" }
}

func escaped(
    _ text: String,
    unless isPlain: (Unicode.Scalar) -> Bool,
    _ escape: (Unicode.Scalar) -> String
) -> String {
    guard !text.unicodeScalars.allSatisfy(isPlain) else { return text }
    return text.unicodeScalars.map { isPlain($0) ? String($0) : escape($0) }.joined()
}

/// False for control characters (they start terminal sequences), format characters (they change
/// the writing direction), separators (they break the layout), and unassigned characters.
func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x7F else { return scalar.value >= 0x20 }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
        .unassigned:
        false
    default: true
    }
}
