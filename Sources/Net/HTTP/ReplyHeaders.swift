// SPDX-License-Identifier: Apache-2.0

/// The few header lines of a reply that matter to us, and how much there was in all.
struct ReplyHeaders {
    /// Octets of all lines so far, of interim replies and trailers, too.
    private(set) var octets = 0

    /// The last reply's `Date`, as it came.
    private(set) var date: String?

    /// The last reply's `Retry-After`, as it came.
    private(set) var retryAfter: String?

    /// The last reply's `Content-Type`, as it came.
    private(set) var contentType: String?

    /// The last reply's `Age`, as it came.
    private(set) var age: String?

    /// Whether the last reply's body is compressed, which nobody asked for.
    private(set) var isEncoded = false

    /// Reads one line as libcurl gives it: the line break included, HTTP/2's made to look alike.
    mutating func take(_ line: RawSpan) {
        octets += line.byteCount
        if Self.begins(line, with: "http/") {
            date = nil
            retryAfter = nil
            contentType = nil
            age = nil
            isEncoded = false
        } else if Self.begins(line, with: "date:") {
            date = Self.text(line, from: 5)
        } else if Self.begins(line, with: "retry-after:") {
            retryAfter = Self.text(line, from: 12)
        } else if Self.begins(line, with: "content-type:") {
            contentType = Self.text(line, from: 13)
        } else if Self.begins(line, with: "age:") {
            age = Self.text(line, from: 4)
        } else if Self.begins(line, with: "content-encoding:") {
            let coding = Self.text(line, from: 17)
            isEncoded = !coding.isEmpty && coding.lowercased() != "identity"
        }
    }

    /// Whether `line` begins with `start`, which has no capital letter, in any case.
    private static func begins(_ line: RawSpan, with start: StaticString) -> Bool {
        guard line.byteCount >= start.utf8CodeUnitCount else { return false }
        return start.withUTF8Buffer { start in
            // SAFETY: both have at least as many octets as `start`.
            start.indices.allSatisfy { index in
                let octet = unsafe line.unsafeLoad(fromByteOffset: index, as: UInt8.self)
                let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet)
                return unsafe start[index] == (isCapital ? octet | 0x20 : octet)
            }
        }
    }

    /// The line from an octet on, without white space at either end.
    private static func text(_ line: RawSpan, from start: Int) -> String {
        // SAFETY: the buffer is read during the call only.
        unsafe line.withUnsafeBytes { line in
            let value = unsafe line[start...].drop { $0 <= 0x20 }
            let end = unsafe value.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? value.startIndex
            return unsafe String(decoding: value[..<end], as: UTF8.self)
        }
    }
}
