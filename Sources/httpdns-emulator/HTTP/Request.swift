// SPDX-License-Identifier: Apache-2.0
import Foundation

struct Request: Sendable {
    var method: String

    /// Target before `?`, not percent-decoded.
    var path: String

    /// Target after `?`, not percent-decoded.
    var query: String

    /// Fields by lower-case name; repeated fields are joined with `, ` (RFC 9110 §5.3).
    var headers: [String: String]

    var body: [UInt8] = []
    var client: String

    /// True if the connection persists after the reply (RFC 9112 §9.3).
    var keepsAlive: Bool
}

// MARK: - Reading

extension Request {
    /// Reason why a request is rejected; the raw value is the status of the reply.
    enum Failure: Int, Error {
        case malformed = 400
        case headTooLong = 431
        case bodyTooLong = 413

        /// Chunked content is not supported.
        case lengthRequired = 411

        case version = 505
    }

    init(head: some Collection<UInt8>, peer: String) throws(Failure) {
        var lines = String(decoding: head, as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[1].hasPrefix("/") else { throw .malformed }
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

        // HTTP/1.1 requires Host (RFC 9112 §3.2).
        guard headers["host"] != nil || words[2] == "HTTP/1.0" else { throw .malformed }

        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let connection = (headers["connection"] ?? "").lowercased()
        self.method = String(words[0])
        self.path = String(target[0])
        self.query = target.count > 1 ? String(target[1]) : ""
        self.headers = headers
        self.keepsAlive =
            words[2] == "HTTP/1.1"
            ? !connection.contains("close") : connection.contains("keep-alive")

        // The last address is from the nearest proxy; clients can forge the others.
        let forwarded = headers["x-forwarded-for"]?.split(separator: ",").last
        self.client = forwarded?.trimmingCharacters(in: .whitespaces) ?? peer
    }

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
    /// Percent-decoded parameters of query and form; nil if a parameter is invalid.
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
