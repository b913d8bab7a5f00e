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
    mutating func take(_ line: [UInt8]) {
        octets += line.count
        if line.starts(with: "HTTP/".utf8) {
            date = nil
            retryAfter = nil
            contentType = nil
            age = nil
            isEncoded = false
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let value = line[(colon + 1)...].drop { Self.isBlank($0) }
        let end = value.lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? value.startIndex
        let text = String(decoding: value[..<end], as: UTF8.self)
        switch name {
        case "date": date = text
        case "retry-after": retryAfter = text
        case "content-type": contentType = text
        case "age": age = text
        case "content-encoding": isEncoded = !text.isEmpty && text.lowercased() != "identity"
        default: break
        }
    }

    /// Whether `octet` is white space at either end of a value.
    private static func isBlank(_ octet: UInt8) -> Bool { octet <= 0x20 }
}
