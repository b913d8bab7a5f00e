// SPDX-License-Identifier: Apache-2.0

struct QueryTemplate: Sendable {
    private enum Place: String, CaseIterable {
        case name = "{name}"
        case type = "{type}"
    }

    private var parts: [(text: String, place: Place)] = []

    private var rest: String

    /// Splits `query` at `{name}` and `{type}`; appends missing placeholders.
    init(_ query: String) {
        rest = query
        for (place, parameter) in [(Place.name, "name="), (.type, "type=")]
        where !query.contains(place.rawValue) {
            rest += (rest.isEmpty ? "" : "&") + parameter + place.rawValue
        }
        while let (range, place) = Self.firstPlace(in: rest) {
            parts.append((String(rest[..<range.lowerBound]), place))
            rest = String(rest[range.upperBound...])
        }
    }

    func filled(name: String, type: String) -> String {
        var query = ""
        for part in parts {
            query += part.text
            query += part.place == .name ? name : type
        }
        return query + rest
    }

    private static func firstPlace(in text: String) -> (Range<String.Index>, Place)? {
        Place.allCases.compactMap { place in
            text.firstRange(of: place.rawValue).map { ($0, place) }
        }.min { $0.0.lowerBound < $1.0.lowerBound }
    }
}
