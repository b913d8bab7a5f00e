// SPDX-License-Identifier: Apache-2.0

struct ReplyHeaders {
    /// Octets of all lines, also of interim replies and trailers, plus `lineOctets` for each line.
    private(set) var octets = 0

    private static let lineOctets = 96

    private(set) var date: String?

    private(set) var retryAfter: String?

    private(set) var contentType: String?

    private(set) var age: String?

    /// True if the body has a content encoding, which the request did not allow.
    private(set) var isEncoded = false

    /// Values in the previous reply; the next reply usually has the same values.
    private var latestDate = ""
    private var latestContentType = ""

    /// Maximum octets of a retained value.
    private static let retainedOctets = 64

    /// Removes all lines.
    mutating func clear() {
        octets = 0
        removeValues()
    }

    private mutating func removeValues() {
        date = nil
        retryAfter = nil
        contentType = nil
        age = nil
        isEncoded = false
    }

    /// Parses one header line; libcurl uses the HTTP/1.1 format for all versions.
    ///
    /// Returns the octets that the line adds to ``octets``.
    mutating func take(_ line: RawSpan) -> Int {
        let gained = line.byteCount + Self.lineOctets
        octets += gained
        guard line.byteCount > 0 else { return gained }
        // SAFETY: the line has an octet.
        switch unsafe line.unsafeLoad(fromByteOffset: 0, as: UInt8.self) | 0x20 {
        case UInt8(ascii: "h") where Self.begins(line, with: "http/"):
            removeValues()
        case UInt8(ascii: "d") where Self.begins(line, with: "date:"):
            date = Self.text(line, from: 5, like: &latestDate)
        case UInt8(ascii: "r") where Self.begins(line, with: "retry-after:"):
            retryAfter = Self.text(line, from: 12)
        case UInt8(ascii: "c") where Self.begins(line, with: "content-type:"):
            contentType = Self.text(line, from: 13, like: &latestContentType)
        case UInt8(ascii: "c") where Self.begins(line, with: "content-encoding:"):
            let coding = Self.text(line, from: 17)
            isEncoded = !coding.isEmpty && coding.lowercased() != "identity"
        case UInt8(ascii: "a") where Self.begins(line, with: "age:"):
            age = Self.text(line, from: 4)
        default: break
        }
        return gained
    }

    /// Returns the status code of a status line, or 0 for any other line.
    static func status(_ line: RawSpan) -> Int {
        guard begins(line, with: "http/") else { return 0 }
        let words = text(line, from: 5).split(separator: " ")
        guard words.count > 1, words[1].utf8.count == 3, let status = Int(words[1]) else {
            return 0
        }
        return max(0, status)
    }

    private static func begins(_ line: RawSpan, with start: StaticString) -> Bool {
        guard line.byteCount >= start.utf8CodeUnitCount else { return false }
        return start.withUTF8Buffer { start in
            // SAFETY: `line` and the buffer have at least as many octets as `start`.
            start.indices.allSatisfy { index in
                let octet = unsafe line.unsafeLoad(fromByteOffset: index, as: UInt8.self)
                let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet)
                return unsafe start[index] == (isCapital ? octet | 0x20 : octet)
            }
        }
    }

    private static func text(_ line: RawSpan, from start: Int) -> String {
        var latest = ""
        return text(line, from: start, like: &latest)
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

    /// Returns the value, without a copy if the value equals `latest`.
    private static func text(
        _ line: RawSpan,
        from start: Int,
        like latest: inout String
    ) -> String {
        // SAFETY: the buffers are used during the calls only.
        let range = unsafe line.withUnsafeBytes { line in
            let value = unsafe line[start...].drop { $0 <= 0x20 }
            return unsafe value
                .startIndex..<(value.lastIndex { $0 > 0x20 }.map { $0 + 1 }
                ?? value.startIndex)
        }
        let octets = line.extracting(range)
        if isEqual(latest.utf8Span.span, octets) { return latest }
        let text = unsafe octets.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        if text.utf8.count <= retainedOctets { latest = text }
        return text
    }
}
