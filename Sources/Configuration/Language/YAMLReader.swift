// SPDX-License-Identifier: Apache-2.0

/// Reader that builds the tree of a YAML text.
///
/// Anchors, aliases, tags, complex keys, duplicate keys and a second document are errors. Without
/// aliases, a text cannot expand in memory.
struct YAMLReader {
    /// Maximum size of a file in octets; 100,000 routes of one line each take 10 MB.
    static let maximumOctets = 16 << 20

    /// Maximum nesting; the settings need 5 levels.
    static let maximumDepth = 16

    /// Root of the tree; nil if the text is empty or has a syntax error.
    private(set) var root: YAMLNode?

    private(set) var complaints: [YAMLComplaint] = []

    init(complaint: YAMLComplaint) { complaints = [complaint] }

    init(_ octets: [UInt8], file: Int = 0, limit: Int = Self.maximumOctets) {
        do throws(YAMLComplaint) {
            guard octets.count <= limit else {
                throw YAMLComplaint(
                    place: YAMLPlace(file: file, line: 1, column: 1),
                    message: "the text is longer than \(limit >> 20) MiB"
                )
            }
            var parser = YAMLParser(try YAMLText(octets, file: file))
            root = try readDocument(&parser)
        } catch {
            root = nil
            complaints.append(error)
        }
    }
}

// MARK: - Reading

extension YAMLReader {
    private mutating func readDocument(_ parser: inout YAMLParser) throws(YAMLComplaint)
        -> YAMLNode?
    {
        var document: YAMLNode?
        var documents = 0
        while true {
            let event = try parser.next()
            switch event.kind {
            case .streamEnd:
                return document
            case .documentStart:
                documents += 1
                guard documents == 1 else {
                    throw YAMLComplaint(
                        place: event.place,
                        message: "a second YAML document starts here; only one is allowed"
                    )
                }
            case .other:
                break
            default:
                document = try readNode(from: event, &parser, depth: 1)
            }
        }
    }

    private mutating func readNode(
        from event: YAMLParser.Event,
        _ parser: inout YAMLParser,
        depth: Int
    ) throws(YAMLComplaint) -> YAMLNode {
        guard depth <= Self.maximumDepth else {
            throw YAMLComplaint(
                place: event.place,
                message: "values are nested more than \(Self.maximumDepth) deep"
            )
        }
        var node = YAMLNode(content: .refused, place: event.place)
        switch event.kind {
        case .scalar(let text, let plain):
            // Escapes such as `"\0"` produce characters that are not in the text.
            if text.unicodeScalars.contains(where: Self.isControl) {
                complain(event.place, "a value must not contain newlines or control characters")
            } else {
                node.content = .scalar(text, plain: plain)
            }
        case .sequenceStart:
            node.content = .sequence(try readItems(&parser, depth: depth))
        case .mappingStart:
            node.content = .mapping(try readPairs(&parser, depth: depth))
        default:
            complain(
                event.place,
                "aliases are not allowed here",
                hint: "a value that starts with `*` must be quoted: \"*.example.com\""
            )
        }
        if event.isAnchored {
            complain(
                event.place,
                "anchors are not allowed here",
                hint: "a value that starts with `&` must be quoted"
            )
        }
        if event.isTagged {
            complain(
                event.place,
                "tags are not allowed here",
                hint: "a value that starts with `!` must be quoted"
            )
        }
        return node
    }

    /// Returns true for control characters (category Cc).
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    private mutating func readItems(
        _ parser: inout YAMLParser,
        depth: Int
    ) throws(YAMLComplaint) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let event = try parser.next()
            if case .collectionEnd = event.kind { return items }
            items.append(try readNode(from: event, &parser, depth: depth + 1))
        }
    }

    private mutating func readPairs(
        _ parser: inout YAMLParser,
        depth: Int
    ) throws(YAMLComplaint) -> [YAMLPair] {
        var pairs: [YAMLPair] = []
        var seen: [String: YAMLPlace] = [:]
        while true {
            let event = try parser.next()
            if case .collectionEnd = event.kind { return pairs }
            let key = try readNode(from: event, &parser, depth: depth + 1)
            let value = try readNode(from: try parser.next(), &parser, depth: depth + 1)
            guard let text = key.scalar else {
                if case .refused = key.content { continue }
                complain(key.place, "a key must be plain text")
                continue
            }
            if let first = seen[text] {
                complain(
                    key.place,
                    "duplicate key `\(text.shortened)`",
                    hint: "first on line \(first.line)"
                )
                continue
            }
            seen[text] = key.place
            pairs.append(YAMLPair(key: text, keyPlace: key.place, value: value))
        }
    }

    private mutating func complain(_ place: YAMLPlace, _ message: String, hint: String? = nil) {
        complaints.append(YAMLComplaint(place: place, message: message, hint: hint))
    }
}

extension String {
    /// Text shortened for a message to at most 64 characters.
    package var shortened: String {
        let longest = 64
        return unicodeScalars.count <= longest
            ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(longest))) + "…"
    }
}
