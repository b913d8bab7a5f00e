// SPDX-License-Identifier: Apache-2.0

/// The parameters of a request, each at most once.
struct Parameters: Sendable {
    /// By name.
    private var values: [String: String] = [:]

    /// Reads query and form, nil if a part is malformed or doubled, which could mean anything.
    init?(_ request: Request) {
        guard let parameters = request.parameters else { return nil }
        for (name, value) in parameters {
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    /// Takes parameters from somewhere else, such as an encrypted one.
    init(_ values: [String: String]) { self.values = values }

    /// The value, nil if absent.
    subscript(name: String) -> String? { values[name] }

    /// The value, nil if absent or empty.
    func text(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// All of them whose name passes, sorted by the octets of the name.
    func sorted(where passes: (String) -> Bool) -> [(name: String, value: String)] {
        values.filter { passes($0.key) }
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { ($0.key, $0.value) }
    }
}

extension StringProtocol {
    /// Whether it is a name of at most 253 letters, digits, hyphens and underscores.
    var isHostName: Bool {
        utf8.count <= 253
            && utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy { label in
                    (1...63).contains(label.count)
                        && label.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F }
                }
    }

    /// Whether it is nothing but decimal digits, and at least one.
    var isDigits: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }

    /// It as the zone and the counters know names: lower case, no final dot.
    var asKey: String {
        let lower = lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

extension UInt8 {
    /// Whether it is an ASCII letter or digit.
    var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
