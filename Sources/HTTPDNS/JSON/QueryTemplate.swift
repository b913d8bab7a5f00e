// SPDX-License-Identifier: Apache-2.0

struct QueryTemplate: Sendable {
    private enum Place: String, CaseIterable {
        case name = "{name}"
        case type = "{type}"
    }

    private var parts: [(text: [UInt8], place: Place)] = []

    private var rest: [UInt8]

    /// Splits `query` at `{name}` and `{type}`; appends missing placeholders.
    init(_ query: String) {
        var rest = query
        for (place, parameter) in [(Place.name, "name="), (.type, "type=")]
        where !query.contains(place.rawValue) {
            rest += (rest.isEmpty ? "" : "&") + parameter + place.rawValue
        }
        while let (range, place) = Self.firstPlace(in: rest) {
            parts.append((Array(rest[..<range.lowerBound].utf8), place))
            rest = String(rest[range.upperBound...])
        }
        self.rest = Array(rest.utf8)
    }

    func fill(_ query: inout QueryWriter, name: [UInt8], type: [UInt8]) {
        for part in parts {
            query.append(part.text)
            query.append(part.place == .name ? name : type)
        }
        query.append(rest)
    }

    private static func firstPlace(in text: String) -> (Range<String.Index>, Place)? {
        Place.allCases.compactMap { place in
            text.firstRange(of: place.rawValue).map { ($0, place) }
        }.min { $0.0.lowerBound < $1.0.lowerBound }
    }
}
