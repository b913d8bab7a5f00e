// SPDX-License-Identifier: Apache-2.0

/// Replaces each character that could control a terminal by `\u{…}`.
///
/// Attackers can choose names and error texts.
func printable(_ text: String) -> String {
    guard !text.unicodeScalars.allSatisfy(isPrintable) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        if isPrintable(scalar) {
            result.unicodeScalars.append(scalar)
        } else {
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        }
    }
    return result
}

/// Returns true if a character cannot control the terminal.
///
/// Control characters start terminal sequences, format characters change the writing direction, and
/// separators break the layout.
func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x7F else { return scalar.value >= 0x20 }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
        .unassigned:
        false
    default: true
    }
}
