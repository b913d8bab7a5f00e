// SPDX-License-Identifier: Apache-2.0

struct Fault: Sendable, Equatable {
    var kind: Kind
    var conditions: [Condition] = []
    var text: String

    enum Kind: Sendable, Equatable {
        case delay(milliseconds: Int)
        /// Sends no reply, and keeps the connection open.
        case silent
        case reset
        case close
        /// Sends the first `after` octets of the content, by default half of the content, then FIN.
        case truncated(after: Int?)
        case noise
        case garbage
        case badPadding
        case wrongKey
        case wrongName(String)
        case status(Int, retryAfter: Int?)
        case error(String)
        case redirect(String)
        case huge(octets: Int)
        case empty
        case zeroAddress
        case ttl(String)
        case gzip
    }

    enum Condition: Sendable, Equatable {
        case every(Int)
        case first(Int)
        case name(String)
        /// True if the call has this path. A fault without this condition applies only to lookups.
        case path(String)
        case probability(Double)
    }
}

// MARK: - Reading

extension Fault {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Parses `KIND[=VALUE][:CONDITION]...` from the end, because a URL in VALUE has colons.
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
            throw Failure(description: "'\(value)' is invalid after ':\(parts[parts.count - 2]):'")
        }
        return (parts.dropLast(2).joined(separator: ":")[...], condition)
    }

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
            throw Failure(description: "'\(given)' is not a fault (see --help)")
        }
        return kind
    }

    /// Parses `CODE[,SECONDS]`; SECONDS is the value of Retry-After.
    ///
    /// If SECONDS is omitted, the statuses 429 and 503 get the value 1; the others have no field.
    private static func status(_ text: String) -> Kind? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (1...2).contains(parts.count), let code = Int(parts[0]), (200...599).contains(code)
        else { return nil }
        guard parts.count == 2 else {
            return .status(code, retryAfter: code == 429 || code == 503 ? 1 : nil)
        }
        return natural(parts[1], Limits.ttlSeconds).map { .status(code, retryAfter: $0) }
    }

    private static func natural(_ text: String, _ most: Int) -> Int? {
        Int(text).flatMap { (0...most).contains($0) ? $0 : nil }
    }

    private static func positive(_ text: String) -> Int? { Int(text).flatMap { $0 > 0 ? $0 : nil } }
}

extension String {
    fileprivate var isPrintable: Bool { !isEmpty && utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
