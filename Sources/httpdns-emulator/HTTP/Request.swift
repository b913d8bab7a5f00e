// SPDX-License-Identifier: Apache-2.0
import Foundation

struct Request: Sendable {
    /// As sent; methods are case-sensitive (RFC 9110 §9.1).
    var method: String

    /// Target before `?`, not percent-decoded: no served path contains an escape.
    var path: String

    /// Target after `?`, as sent.
    var query: String

    /// Lower-case names; repeated fields are joined with `, ` (RFC 9110 §5.3).
    var headers: [String: String]

    var body: [UInt8] = []

    /// Numeric client address: the peer's, or the address that a proxy reports.
    var client: String

    /// True if the connection stays open after the reply (RFC 9112 §9.3).
    var keepsAlive: Bool
}

// MARK: - Reading

extension Request {
    /// Reason why a request cannot be read.
    enum Failure: Error {
        /// Malformed request line, field or length (400).
        case malformed
        /// The head is longer than `Limits.headOctets` (431).
        case headTooLong
        /// The content is longer than `Limits.bodyOctets` (413).
        case bodyTooLong
        /// Content without Content-Length (411); chunked content is not supported.
        case lengthRequired
        /// Neither HTTP/1.0 nor 1.1 (505).
        case version

        /// Status code; the connection is closed after the reply.
        var status: Int {
            switch self {
            case .malformed: 400
            case .headTooLong: 431
            case .bodyTooLong: 413
            case .lengthRequired: 411
            case .version: 505
            }
        }
    }

    /// Parses all lines before the empty line.
    ///
    /// - Throws: `malformed`, `version`.
    init(head: some Collection<UInt8>, peer: String) throws(Failure) {
        var lines = String(decoding: head, as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[1].hasPrefix("/") else {
            throw .malformed
        }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { throw .version }

        var headers: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                throw .malformed
            }
            let name = line[..<colon].lowercased()
            guard !name.contains(where: \.isWhitespace) else { throw .malformed }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[name] = headers[name].map { $0 + ", " + value } ?? value
        }

        // RFC 9112 §3.2 requires status 400.
        guard headers["host"] != nil || words[2] == "HTTP/1.0" else { throw .malformed }

        let target = words[1].split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let connection = (headers["connection"] ?? "").lowercased()
        self.method = String(words[0])
        self.path = String(target[0])
        self.query = target.count > 1 ? String(target[1]) : ""
        self.headers = headers
        self.keepsAlive =
            words[2] == "HTTP/1.1"
            ? !connection.contains("close") : connection.contains("keep-alive")

        // The nearest proxy appends the address that it saw; only this address is trustworthy.
        let forwarded = headers["x-forwarded-for"]?.split(separator: ",").last
        self.client = forwarded?.trimmingCharacters(in: .whitespaces) ?? peer
    }

    /// Announced length.
    ///
    /// - Throws: `malformed`, `lengthRequired`, `bodyTooLong`.
    var contentLength: Int {
        get throws(Failure) {
            guard headers["transfer-encoding"] == nil else { throw .lengthRequired }
            guard let text = headers["content-length"] else { return 0 }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(text)
            else { throw .malformed }
            guard length <= Limits.bodyOctets else { throw .bodyTooLong }
            return length
        }
    }
}

// MARK: - Parameters

extension Request {
    /// Percent-decoded parameters of query and form, in order; nil if a part is invalid.
    ///
    /// Each vendor decides on its reaction to nil.
    var parameters: [(name: String, value: String)]? {
        var text = query
        if method == "POST", !body.isEmpty {
            text += (text.isEmpty ? "" : "&") + String(decoding: body, as: UTF8.self)
        }
        var found: [(name: String, value: String)] = []
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.replacing("+", with: " ").removingPercentEncoding }
            guard let name = pair[0], let value = pair.count > 1 ? pair[1] : "" else { return nil }
            found.append((name, value))
        }
        return found
    }
}
