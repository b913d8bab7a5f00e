// SPDX-License-Identifier: Apache-2.0

/// One way to misbehave, and when.
struct Fault: Sendable, Equatable {
    /// What happens.
    var kind: Kind

    /// All of these must hold; none: always.
    var conditions: [Condition] = []

    /// The specification it was read from.
    var text: String

    /// What happens to a call.
    enum Kind: Sendable, Equatable {
        /// Answers after this many milliseconds.
        case delay(milliseconds: Int)
        /// Never answers, and holds the connection.
        case silent
        /// Sends RST.
        case reset
        /// Sends FIN without an answer.
        case close
        /// Announces more content than it sends; nil: sends half.
        case truncated(after: Int?)
        /// Sends octets that are not HTTP.
        case noise
        /// Answers 200 with random content.
        case garbage
        /// Encrypts with padding no decryption accepts.
        case badPadding
        /// Encrypts with a key nobody has.
        case wrongKey
        /// Answers for this name instead.
        case wrongName(String)
        /// Answers this status code; Retry-After in seconds, if any.
        case status(Int, retryAfter: Int?)
        /// Answers with the vendor's own error of this code.
        case error(String)
        /// Answers 302 to this URL.
        case redirect(String)
        /// Pads the content to this many octets.
        case huge(octets: Int)
        /// Answers 200 without content.
        case empty
        /// Replaces each address by the unspecified one.
        case zeroAddress
        /// Replaces each TTL by this text.
        case ttl(String)
        /// Compresses the content, asked or not.
        case gzip
    }

    /// When it happens.
    enum Condition: Sendable, Equatable {
        /// To each N-th call that the other conditions let through.
        case every(Int)
        /// To the first N calls that the other conditions let through.
        case first(Int)
        /// To calls for this name, in lower case.
        case name(String)
        /// To calls of this path; without it, to lookups only.
        case path(String)
        /// By the throw of a die, 0...1.
        case probability(Double)
    }
}

// MARK: - Reading

extension Fault {
    /// Why a specification is none, for the user.
    struct Failure: Error, CustomStringConvertible {
        /// What is wrong.
        var description: String
    }

    /// Reads `KIND[=VALUE][:CONDITION]...`; conditions are found from the end, as URLs have colons.
    init(_ text: String) throws(Failure) {
        var rest = text[...]
        var conditions: [Condition] = []
        while let (before, condition) = try Self.lastCondition(of: rest) {
            conditions.insert(condition, at: 0)
            rest = before
        }
        let parts = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let word = parts.first.map(String.init) ?? ""
        let kind = try Self.kind(word, parts.count > 1 ? String(parts[1]) : nil)
        self.init(kind: kind, conditions: conditions, text: text)
    }

    /// Cuts a condition off the end, or nil if there is none.
    private static func lastCondition(
        of text: Substring
    ) throws(Failure) -> (before: Substring, condition: Condition)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        let value = String(parts[parts.count - 1])
        let condition: Condition?
        switch parts[parts.count - 2] {
        case "every": condition = positive(value).map(Condition.every)
        case "first": condition = positive(value).map(Condition.first)
        case "name": condition = value.isEmpty ? nil : .name(value.lowercased())
        case "path": condition = value.hasPrefix("/") ? .path(value) : nil
        case "probability":
            condition = Double(value).flatMap { (0...1).contains($0) ? .probability($0) : nil }
        default: return nil
        }
        guard let condition else {
            throw Failure(description: "'\(value)' does not fit ':\(parts[parts.count - 2]):'")
        }
        return (parts.dropLast(2).joined(separator: ":")[...], condition)
    }

    /// Reads a kind and its value.
    private static func kind(_ word: String, _ value: String?) throws(Failure) -> Kind {
        let kind: Kind?
        switch (word, value) {
        case ("silent", nil): kind = .silent
        case ("reset", nil): kind = .reset
        case ("close", nil): kind = .close
        case ("noise", nil): kind = .noise
        case ("garbage", nil): kind = .garbage
        case ("bad-padding", nil): kind = .badPadding
        case ("wrong-key", nil): kind = .wrongKey
        case ("empty", nil): kind = .empty
        case ("zero-address", nil): kind = .zeroAddress
        case ("gzip", nil): kind = .gzip
        case ("truncated", nil): kind = .truncated(after: nil)
        case ("truncated", let value?):
            kind = natural(value, Limits.hugeOctets).map { .truncated(after: $0) }
        case ("wrong-name", nil): kind = .wrongName("wrong.example")
        case ("wrong-name", let value?): kind = value.isEmpty ? nil : .wrongName(value)
        case ("delay", let value?):
            kind = natural(value, Limits.delayMilliseconds).map { .delay(milliseconds: $0) }
        case ("huge", let value?):
            kind = natural(value, Limits.hugeOctets).map { .huge(octets: $0) }
        case ("status", let value?): kind = status(value)
        case ("error", let value?): kind = value.isPrintable ? .error(value) : nil
        case ("redirect", let value?): kind = value.isPrintable ? .redirect(value) : nil
        case ("ttl", let value?): kind = value.isPrintable ? .ttl(value) : nil
        default: kind = nil
        }
        guard let kind else {
            let given = value.map { "\(word)=\($0)" } ?? word
            throw Failure(description: "'\(given)' is no fault (see --help)")
        }
        return kind
    }

    /// Reads `CODE[,SECONDS]`; 429 and 503 say Retry-After: 1 unless told otherwise.
    private static func status(_ text: String) -> Kind? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (1...2).contains(parts.count), let code = Int(parts[0]), (200...599).contains(code)
        else { return nil }
        guard parts.count == 2 else {
            return .status(code, retryAfter: code == 429 || code == 503 ? 1 : nil)
        }
        return natural(parts[1], Limits.ttlSeconds).map { .status(code, retryAfter: $0) }
    }

    /// A whole number of 0 or more.
    private static func natural(_ text: String, _ most: Int) -> Int? {
        Int(text).flatMap { (0...most).contains($0) ? $0 : nil }
    }

    /// A whole number of 1 or more.
    private static func positive(_ text: String) -> Int? {
        Int(text).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension String {
    /// Whether it is visible ASCII, so that it can stand in a header field.
    fileprivate var isPrintable: Bool { !isEmpty && utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
