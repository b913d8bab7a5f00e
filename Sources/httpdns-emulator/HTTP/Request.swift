// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One HTTP/1.1 request, read completely.
struct Request: Sendable {
    /// The method as sent, case kept (RFC 9110 §9.1: methods are case-sensitive).
    var method: String

    /// The target before `?`, not percent-decoded: no path we serve needs an escape.
    var path: String

    /// The target after `?`, as sent.
    var query: String

    /// Header fields, names in lower case; repeated fields joined with `, ` (RFC 9110 §5.3).
    var headers: [String: String]

    /// The content, empty if there was none.
    var body: [UInt8] = []

    /// The numeric address of the client: of the peer, or what a proxy in front says of it.
    var client: String

    /// Whether the connection stays open after the reply (RFC 9112 §9.3).
    var keepsAlive: Bool
}

// MARK: - Reading

extension Request {
    /// Why a request cannot be read; the reply's status code says it to the client.
    enum Failure: Error {
        /// The request line, a field or the length is malformed (400).
        case malformed
        /// The head is longer than `Limits.headOctets` (431).
        case headTooLong
        /// The content is longer than `Limits.bodyOctets` (413).
        case bodyTooLong
        /// The content has no Content-Length (411): nobody sends us chunks.
        case lengthRequired
        /// The protocol is not HTTP/1.0 or 1.1 (505).
        case version

        /// The status code that answers the failure, after which the connection is closed.
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

    /// Reads a head: everything before the empty line.
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

        // RFC 9112 §3.2 demands the 400.
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

        // The proxy next to us appends the address it saw, so the last one is the trustworthy one.
        let forwarded = headers["x-forwarded-for"]?.split(separator: ",").last
        self.client = forwarded?.trimmingCharacters(in: .whitespaces) ?? peer
    }

    /// The octets of content the head announces.
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
    /// The parameters of the query and of a form in the content, in order, percent-decoded.
    ///
    /// A part that is not valid percent-encoded UTF-8 makes the whole nil: no vendor says what
    /// happens then, so each vendor decides.
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
