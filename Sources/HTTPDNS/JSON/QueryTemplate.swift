// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct QueryTemplate: Sendable {
    private enum Place: String, CaseIterable {
        case name = "{name}"
        case type = "{type}"
    }

    private var parts: [(text: [UInt8], place: Place)] = []

    private var rest: [UInt8]

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

    /// Returns false if `name` is not a hostname.
    func fill(_ query: inout QueryWriter, name: Name, type: [UInt8]) -> Bool {
        for part in parts {
            query.append(part.text)
            switch part.place {
            case .name: guard query.append(name) else { return false }
            case .type: query.append(type)
            }
        }
        query.append(rest)
        return true
    }

    private static func firstPlace(in text: String) -> (Range<String.Index>, Place)? {
        Place.allCases.compactMap { place in
            text.firstRange(of: place.rawValue).map { ($0, place) }
        }.min { $0.0.lowerBound < $1.0.lowerBound }
    }
}
