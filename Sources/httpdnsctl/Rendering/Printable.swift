// SPDX-License-Identifier: Apache-2.0

/// The text with every character that could command a terminal written as `\u{…}`.
///
/// Names and error texts come from the network.  The daemon escapes names already; this is the
/// last door before the terminal, and it trusts nobody.
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

/// Whether a character only ever shows itself.
///
/// Controls start terminal sequences, format characters turn the direction of writing, and line
/// and paragraph separators break the layout.
func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    // Most are, and the properties of the others take long to look up.
    guard scalar.value >= 0x7F else { return scalar.value >= 0x20 }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
        .unassigned:
        false
    default: true
    }
}
