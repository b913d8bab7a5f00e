// SPDX-License-Identifier: Apache-2.0

/// Builds the tree of a YAML text, and refuses what settings do not need.
///
/// Anchors, aliases and tags are refused: without aliases a text cannot grow when it is read.  So
/// are keys that are not plain text, keys given twice, and a second document.  All such faults are
/// reported together; a syntax error ends the reading.
struct YAMLReader {
    /// The longest text that is read, in octets (16 MiB): 100,000 routes of a line each take 10 MB.
    static let maximumOctets = 16 << 20

    /// The deepest nesting; our own settings need 5.
    static let maximumDepth = 16

    /// The tree, or nil if the text holds nothing or could not be read to its end.
    private(set) var root: YAMLNode?

    /// What is wrong, in the order of the text.
    private(set) var complaints: [YAMLComplaint] = []

    /// A text of which nothing is known but why.
    init(complaint: YAMLComplaint) { complaints = [complaint] }

    /// Reads `octets`, which are those of the given file.
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
    /// Reads the one document of a text.
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
                        message: "a second document starts here; settings are one document"
                    )
                }
            case .other:
                break
            default:
                document = try readNode(from: event, &parser, depth: 1)
            }
        }
    }

    /// Reads the value that starts with `event`.
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
            // The text was checked before, but `"\0"` brings such characters back.
            if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                complain(event.place, "a value must not hold newlines or control characters")
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

    /// Reads the rest of a sequence.
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

    /// Reads the rest of a mapping.
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
                    "`\(text.shortened)` is given twice",
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
    /// The text as a message may quote it: not longer than a line.
    var shortened: String {
        let longest = 64
        return unicodeScalars.count <= longest
            ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(longest))) + "…"
    }
}
