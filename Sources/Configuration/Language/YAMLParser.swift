// SPDX-License-Identifier: Apache-2.0
import CYAML

/// Wrapper of the event parser of libyaml.
// SAFETY: both pointers are private, made in `init`, valid until `deinit`, and never handed out.
@safe struct YAMLParser: ~Copyable {
    struct Event {
        var kind: Kind
        var place: YAMLPlace
        var isAnchored = false
        var isTagged = false

        enum Kind {
            case documentStart
            case scalar(String, plain: Bool)
            case sequenceStart
            case mappingStart
            case collectionEnd
            case alias
            case streamEnd

            /// Start of the stream, or end of a document.
            case other
        }
    }

    /// Parser of libyaml; contains a pointer to itself, so it must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>

    /// Copy of the text, which the parser reads in place.
    private let input: UnsafeMutableBufferPointer<UInt8>

    private let text: YAMLText

    /// Traps if there is no memory.
    init(_ text: YAMLText) {
        self.text = text
        // SAFETY: both allocations live until `deinit`, which deletes the parser before its input;
        // `input` is fully initialised, and `input.count` is its length.
        unsafe parser = .allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        unsafe input = .allocate(capacity: text.octets.count)
        unsafe _ = input.initialize(fromContentsOf: text.octets)
        let initialized = unsafe yaml_parser_initialize(parser)
        precondition(initialized == 1, "libyaml has no memory for a parser")
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        // SAFETY: `init` allocated both pointers, and nothing else frees them.
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// Returns the next event; must not be called after `streamEnd` or an error.
    mutating func next() throws(YAMLComplaint) -> Event {
        // SAFETY: the parser is initialised. On success, the parser fills `event`. The event is
        // deleted once, after its content was copied.
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw syntaxError() }
        defer { unsafe yaml_event_delete(&event) }
        var copy = unsafe Self.copy(of: event)
        copy.place = text.clamp(copy.place)
        return copy
    }

    private func syntaxError() -> YAMLComplaint {
        // SAFETY: after an error, `problem` and `context` are static C strings or nil.
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) }
        let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) }
        let place = unsafe YAMLPlace(parser.pointee.problem_mark)
        let start = unsafe YAMLPlace(parser.pointee.context_mark)
        let known = Self.complaint(context: context ?? "", problem: problem ?? "", start: start)
        if let known {
            return YAMLComplaint(place: text.clamp(place), message: known.message, hint: known.hint)
        }
        return YAMLComplaint(
            place: text.clamp(place),
            message: [context, problem ?? "the text is not YAML"]
                .compactMap(\.self).joined(separator: ": "),
            hint: Self.hint(context: context ?? "", problem: problem ?? "")
                ?? (context != nil && start.line < place.line
                    ? "the part with the error starts on line \(start.line)" : nil)
        )
    }

    private static func complaint(
        context: String,
        problem: String,
        start: YAMLPlace
    ) -> (message: String, hint: String)? {
        switch (context, problem) {
        case ("while parsing a flow mapping", _):
            (
                "the `{` on line \(start.line) has no closing `}` before this place",
                "add the `}`, or a missing comma"
            )
        case ("while parsing a flow sequence", _):
            (
                "the `[` on line \(start.line) has no closing `]` before this place",
                "add the `]`, or a missing comma"
            )
        case ("while parsing a block mapping", "did not find expected key"):
            (
                "expected a key of the section that starts on line \(start.line)",
                "indent all keys of a section equally"
            )
        case ("while parsing a block collection", "did not find expected '-' indicator"):
            (
                "expected an item with `-` of the list that starts on line \(start.line)",
                "indent all items of a list equally"
            )
        case ("while scanning a quoted scalar", "found unexpected end of stream"):
            ("the quote on line \(start.line) is not closed", "add the closing quote")
        case (_, "mapping values are not allowed in this context"):
            (
                "a key is not allowed here",
                "indent all keys of a section equally, and quote a value that contains `: `"
            )
        default: nil
        }
    }

    private static func hint(context: String, problem: String) -> String? {
        if context.contains("alias") {
            "a value that starts with `*` must be quoted: \"*.example.com\""
        } else if context.contains("anchor") || context.contains("tag") {
            "a value that starts with `&` or `!` must be quoted"
        } else if problem.contains("cannot start any token") {
            "indent with spaces, not tabs, and quote values that start with a special character"
        } else {
            nil
        }
    }

    private static func copy(of event: yaml_event_t) -> Event {
        // SAFETY: `type` says which member of the union is valid; a scalar's value has `length`
        // octets, which the parser has checked to be UTF-8.
        var copy = unsafe Event(kind: .other, place: YAMLPlace(event.start_mark))
        switch unsafe event.type {
        case YAML_DOCUMENT_START_EVENT: copy.kind = .documentStart
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let octets = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            copy.kind = unsafe .scalar(
                String(decoding: octets, as: UTF8.self),
                plain: scalar.style == YAML_PLAIN_SCALAR_STYLE
            )
            copy.isAnchored = unsafe scalar.anchor != nil
            copy.isTagged = unsafe scalar.tag != nil
        case YAML_SEQUENCE_START_EVENT:
            copy.kind = .sequenceStart
            copy.isAnchored = unsafe event.data.sequence_start.anchor != nil
            copy.isTagged = unsafe event.data.sequence_start.tag != nil
        case YAML_MAPPING_START_EVENT:
            copy.kind = .mappingStart
            copy.isAnchored = unsafe event.data.mapping_start.anchor != nil
            copy.isTagged = unsafe event.data.mapping_start.tag != nil
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: copy.kind = .collectionEnd
        case YAML_ALIAS_EVENT: copy.kind = .alias
        case YAML_STREAM_END_EVENT: copy.kind = .streamEnd
        default: break
        }
        return copy
    }
}

extension YAMLPlace {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: mark.line + 1, column: mark.column + 1)
    }
}
