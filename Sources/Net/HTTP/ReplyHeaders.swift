// SPDX-License-Identifier: Apache-2.0

/// Headers of one reply.
///
/// A class, because each access to a struct in a class needs run-time exclusivity checks.
final class ReplyHeaders {
    /// Octets of all received lines, also of interim replies and trailers.
    ///
    /// For each line, `lineOctets` are added.
    private(set) var octets = 0

    private static let lineOctets = 96

    var date: String? { hasDate ? latestDate : nil }

    var retryAfter: String? { hasRetryAfter ? latestRetryAfter : nil }

    var contentType: String? { hasContentType ? latestContentType : nil }

    var age: String? { hasAge ? latestAge : nil }

    private(set) var isEncoded = false

    private var (hasDate, hasRetryAfter, hasContentType, hasAge) = (false, false, false, false)

    /// Latest values; if a header of the next reply has an equal value, the string is reused.
    private var (latestDate, latestRetryAfter, latestContentType, latestAge) = ("", "", "", "")

    /// True if a value is longer than ``retainedOctets``; the next reply removes all values.
    private var hasLongValue = false

    private static let retainedOctets = 64

    func clear() {
        octets = 0
        removeValues()
    }

    private func removeValues() {
        (hasDate, hasRetryAfter, hasContentType, hasAge) = (false, false, false, false)
        isEncoded = false
        guard hasLongValue else { return }
        hasLongValue = false
        (latestDate, latestRetryAfter, latestContentType, latestAge) = ("", "", "", "")
    }

    /// Reads a header line; returns the number that the line adds to ``octets``.
    ///
    /// libcurl converts the lines of HTTP/2 and HTTP/3 to the format of HTTP/1.1.
    func take(_ line: RawSpan) -> Int {
        let gained = line.byteCount + Self.lineOctets
        octets += gained
        guard line.byteCount > 0 else { return gained }
        // SAFETY: the line has an octet.
        switch unsafe line.unsafeLoad(fromByteOffset: 0, as: UInt8.self) | 0x20 {
        case UInt8(ascii: "h") where Self.begins(line, with: "http/"):
            removeValues()
        case UInt8(ascii: "d") where Self.begins(line, with: "date:"):
            if let new = text(line, from: 5, unlike: latestDate) { latestDate = new }
            hasDate = true
        case UInt8(ascii: "r") where Self.begins(line, with: "retry-after:"):
            if let new = text(line, from: 12, unlike: latestRetryAfter) { latestRetryAfter = new }
            hasRetryAfter = true
        case UInt8(ascii: "c") where Self.begins(line, with: "content-type:"):
            if let new = text(line, from: 13, unlike: latestContentType) { latestContentType = new }
            hasContentType = true
        case UInt8(ascii: "c") where Self.begins(line, with: "content-encoding:"):
            let coding = Self.text(line, from: 17)
            isEncoded = !coding.isEmpty && coding.lowercased() != "identity"
        case UInt8(ascii: "a") where Self.begins(line, with: "age:"):
            if let new = text(line, from: 4, unlike: latestAge) { latestAge = new }
            hasAge = true
        default: break
        }
        return gained
    }

    static func status(_ line: RawSpan) -> Int {
        guard begins(line, with: "http/") else { return 0 }
        let words = text(line, from: 5).split(separator: " ")
        guard words.count > 1, words[1].utf8.count == 3, let status = Int(words[1]) else {
            return 0
        }
        return max(0, status)
    }

    private static func begins(_ line: RawSpan, with start: StaticString) -> Bool {
        let count = start.utf8CodeUnitCount
        guard line.byteCount >= count else { return false }
        let start = unsafe start.utf8Start
        // Compares the last octet of `start` first: it is a delimiter, and most lines have a
        // different octet at this place.
        // SAFETY: `line` and `start` have at least `count` octets.
        let last = unsafe line.unsafeLoad(fromByteOffset: count - 1, as: UInt8.self)
        guard unsafe last == start[count - 1] else { return false }
        for index in 0..<count - 1 {
            let octet = unsafe line.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            let isCapital = octet &- UInt8(ascii: "A") < 26
            guard unsafe start[index] == (isCapital ? octet | 0x20 : octet) else { return false }
        }
        return true
    }

    private static func isEqual(_ first: Span<UInt8>, _ second: RawSpan) -> Bool {
        guard first.count == second.byteCount else { return false }
        for index in first.indices {
            // SAFETY: the counts are equal.
            let octet = unsafe second.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            guard octet == first[index] else { return false }
        }
        return true
    }

    private static func value(_ line: RawSpan, from start: Int) -> Range<Int> {
        // SAFETY: the index is less than the count.
        func isBlank(_ index: Int) -> Bool {
            unsafe line.unsafeLoad(fromByteOffset: index, as: UInt8.self) <= 0x20
        }
        var (start, end) = (start, line.byteCount)
        while start < end, isBlank(start) { start += 1 }
        while start < end, isBlank(end - 1) { end -= 1 }
        return start..<end
    }

    private static func text(_ line: RawSpan, from start: Int) -> String {
        // SAFETY: the buffer is used during the call only.
        unsafe line.extracting(value(line, from: start))
            .withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns nil if the value equals `latest`.
    private func text(_ line: RawSpan, from start: Int, unlike latest: String) -> String? {
        let value = line.extracting(Self.value(line, from: start))
        guard !Self.isEqual(latest.utf8Span.span, value) else { return nil }
        let text = Self.text(value, from: 0)
        if text.utf8.count > Self.retainedOctets { hasLongValue = true }
        return text
    }
}
