// SPDX-License-Identifier: Apache-2.0

struct Parameters: Sendable {
    private var values: [String: String] = [:]

    init?(_ request: Request) {
        guard let parameters = request.parameters else { return nil }
        for (name, value) in parameters {
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    init(_ values: [String: String]) { self.values = values }
    subscript(name: String) -> String? { values[name] }
    func text(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    func sorted(where passes: (String) -> Bool) -> [(name: String, value: String)] {
        values.filter { passes($0.key) }
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { ($0.key, $0.value) }
    }
}

extension StringProtocol {
    /// True if the text has at most 253 octets, and labels of at most 63 octets.
    ///
    /// A label may have only letters, digits, hyphens and underscores.
    var isHostName: Bool {
        utf8.count <= 253
            && utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy { label in
                    (1...63).contains(label.count)
                        && label.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F }
                }
    }

    var isDigits: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }

    var asKey: String {
        let lower = lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

extension UInt8 {
    var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
