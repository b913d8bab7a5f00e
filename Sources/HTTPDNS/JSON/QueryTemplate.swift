// SPDX-License-Identifier: Apache-2.0

/// The query of an operator's URL, with places for a name and a type, cut once for all requests.
struct QueryTemplate: Sendable {
    /// What stands between two parts.
    private enum Place: String, CaseIterable {
        case name = "{name}"
        case type = "{type}"
    }

    /// The texts before the places, each with its place.
    private var parts: [(text: String, place: Place)] = []

    /// What follows the last place.
    private var rest: String

    /// Cuts `query` at `{name}` and `{type}`; one that it lacks is added as a parameter.
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

    /// The query about a name; neither value has a character to escape.
    func filled(name: String, type: String) -> String {
        var query = ""
        for part in parts {
            query += part.text
            query += part.place == .name ? name : type
        }
        return query + rest
    }

    /// The first place of either kind.
    private static func firstPlace(in text: String) -> (Range<String.Index>, Place)? {
        Place.allCases.compactMap { place in
            text.firstRange(of: place.rawValue).map { ($0, place) }
        }.min { $0.0.lowerBound < $1.0.lowerBound }
    }
}
