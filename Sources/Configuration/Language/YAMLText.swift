// SPDX-License-Identifier: Apache-2.0

/// Text of a settings file, checked for invalid characters.
///
/// Control characters are errors, because they would reach logs and terminals. U+0085, U+2028,
/// U+2029 and a lone carriage return are errors, because libyaml counts them as line ends, and
/// editors do not.
struct YAMLText {
    let octets: ArraySlice<UInt8>

    /// Position of the end of the text, before a final newline.
    let end: YAMLPlace

    init(_ octets: [UInt8], file: Int = 0) throws(YAMLComplaint) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.octets = octets.starts(with: mark) ? octets.dropFirst(mark.count) : octets[...]

        var place = YAMLPlace(file: file, line: 1, column: 1)
        var end = place
        var afterReturn = false
        var decoder = UTF8()
        var rest = self.octets.makeIterator()
        scan: while true {
            switch decoder.decode(&rest) {
            case .emptyInput: break scan
            case .error: throw YAMLComplaint(place: place, message: "the text is not valid UTF-8")
            case .scalarValue(let scalar):
                guard !afterReturn || scalar == "\n" else {
                    throw Self.complaint(about: "\r", at: end)
                }
                guard scalar == "\r" || Self.isAllowed(scalar) else {
                    throw Self.complaint(about: scalar, at: place)
                }
                afterReturn = scalar == "\r"
                if scalar == "\n" {
                    end = place
                    place = YAMLPlace(file: file, line: place.line + 1, column: 1)
                } else {
                    end = place
                    place.column += 1
                }
            }
        }
        if afterReturn { throw Self.complaint(about: "\r", at: end) }
        self.end = place.column == 1 ? end : place
    }

    func clamp(_ place: YAMLPlace) -> YAMLPlace {
        min(YAMLPlace(file: end.file, line: place.line, column: place.column), end)
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF: true
        case 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...: true
        default: false
        }
    }

    private static func complaint(about scalar: Unicode.Scalar, at place: YAMLPlace)
        -> YAMLComplaint
    {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let code = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return YAMLComplaint(
            place: place,
            message: "the control character U+\(code) is not allowed"
        )
    }
}
