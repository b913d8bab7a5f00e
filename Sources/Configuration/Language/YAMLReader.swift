// SPDX-License-Identifier: Apache-2.0

/// Builder of the tree of a YAML text.
///
/// Anchors, aliases, tags, complex keys, duplicate keys and a second document are errors. Aliases
/// could expand a small text to a large tree.
struct YAMLReader {
    /// Octets of all files together.
    static let maximumOctets = 16 << 20

    /// Key of the list that can be read item by item with a ``Taker``.
    static let longList = "routes"

    /// The settings need 5 levels.
    static let maximumDepth = 16

    /// 100,000 names in `hosts` have 300,000 values.
    static let maximumValues = 500_000

    /// Root of the tree; nil if the text is empty or has a syntax error.
    private(set) var root: YAMLNode?

    private(set) var complaints: [YAMLComplaint] = []
    private var values = 0

    /// A nil result omits the item from the tree.
    typealias Taker = (_ item: YAMLNode) -> YAMLNode?

    init(complaint: YAMLComplaint) { complaints = [complaint] }

    /// Reads a text.
    ///
    /// - Parameter take: gets the items of `longList` one by one, because a tree of 100,000 items
    ///   would take 60 MB. After a syntax error, `take` has received the items before the error.
    init(_ octets: [UInt8], file: Int = 0, limit: Int = Self.maximumOctets, take: Taker = { $0 }) {
        do throws(YAMLComplaint) {
            guard octets.count <= limit else {
                throw YAMLComplaint(
                    place: YAMLPlace(file: file, line: 1, column: 1),
                    message: "the text is longer than \(limit >> 20) MiB"
                )
            }
            var parser = YAMLParser(try YAMLText(octets, file: file))
            root = try readDocument(&parser, take)
        } catch {
            root = nil
            complaints.append(error)
        }
    }
}

// MARK: - Reading

extension YAMLReader {
    private mutating func readDocument(
        _ parser: inout YAMLParser,
        _ take: Taker
    ) throws(YAMLComplaint) -> YAMLNode? {
        var document: YAMLNode?
        var documents = 0
        while true {
            let event = try parser.next()
            switch event.kind {
            case .streamEnd: return document
            case .documentStart:
                documents += 1
                guard documents == 1 else {
                    throw YAMLComplaint(
                        place: event.place,
                        message: "a second YAML document starts here; only one is allowed"
                    )
                }
            case .other: break
            default: document = try readNode(from: event, &parser, depth: 1, take)
            }
        }
    }

    private mutating func readNode(
        from event: YAMLParser.Event,
        _ parser: inout YAMLParser,
        depth: Int,
        _ take: Taker = { $0 }
    ) throws(YAMLComplaint) -> YAMLNode {
        guard depth <= Self.maximumDepth else {
            throw YAMLComplaint(
                place: event.place,
                message: "values are nested more than \(Self.maximumDepth) deep"
            )
        }
        values += 1
        guard values <= Self.maximumValues else {
            throw YAMLComplaint(
                place: event.place,
                message: "the file has more than \(Self.maximumValues) values",
                hint: "move names from `hosts` to a file in `hosts.files`"
            )
        }
        var node = YAMLNode(content: .refused, place: event.place)
        switch event.kind {
        case .scalar(let text, let plain):
            // Checks the parsed value, because the check of the file text cannot find control
            // characters that are written as escapes, such as `"\0"`.
            if text.unicodeScalars.contains(where: Self.isControl) {
                complain(event.place, "a value must not contain newlines or control characters")
            } else {
                node.content = .scalar(text, plain: plain)
            }
        case .sequenceStart:
            node.content = try readItems(&parser, depth: depth, depth == 2 ? take : { $0 })
        case .mappingStart: node.content = .mapping(try readPairs(&parser, depth: depth, take))
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

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    private mutating func readItems(
        _ parser: inout YAMLParser,
        depth: Int,
        _ take: Taker
    ) throws(YAMLComplaint) -> YAMLNode.Content {
        var items: [YAMLNode] = []
        var isTaken = false
        while true {
            let event = try parser.next()
            if case .collectionEnd = event.kind { return isTaken ? .taken : .sequence(items) }
            let before = values
            if let item = take(try readNode(from: event, &parser, depth: depth + 1)) {
                items.append(item)
            } else {
                isTaken = true
                values = before
            }
        }
    }

    private mutating func readPairs(
        _ parser: inout YAMLParser,
        depth: Int,
        _ take: Taker
    ) throws(YAMLComplaint) -> [YAMLPair] {
        var pairs: [YAMLPair] = []
        var seen: [String: YAMLPlace] = [:]
        while true {
            let event = try parser.next()
            if case .collectionEnd = event.kind { return pairs }
            let key = try readNode(from: event, &parser, depth: depth + 1)
            let isLongList = depth == 1 && key.scalar == Self.longList
            let value = try readNode(
                from: try parser.next(),
                &parser,
                depth: depth + 1,
                isLongList ? take : { $0 }
            )
            guard let text = key.scalar else {
                if case .refused = key.content { continue }
                complain(key.place, "the name of an option must be plain text")
                continue
            }
            if let first = seen[text] {
                complain(
                    key.place,
                    "duplicate key `\(text.shortened)`",
                    hint: "the first one is on line \(first.line)"
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
    /// Text with "…" in place of the user name, password and parameters of a URL.
    package var withoutSecrets: String {
        var text = self[...]
        if let at = text.lastIndex(of: "@") { text = "…" + text[at...] }
        if let mark = text.firstIndex(of: "?") { text = text[...mark] + "…" }
        return String(text)
    }

    /// Text for a message, with at most 64 characters.
    package var shortened: String {
        let longest = 64
        return unicodeScalars.count <= longest
            ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(longest))) + "…"
    }
}
