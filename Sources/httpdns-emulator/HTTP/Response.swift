// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One HTTP/1.1 response, before any fault of the connection.
struct Response: Sendable {
    /// The status code.
    var status = 200

    /// Header fields beside Date, Server, Content-Length and Connection.
    var headers: [(name: String, value: String)] = []

    /// The content.
    var body: [UInt8] = []

    /// Content of text, by default with status 200.
    init(status: Int = 200, text: String = "", type: String = "text/plain; charset=utf-8") {
        self.status = status
        self.body = Array(text.utf8)
        self.headers = [("Content-Type", type)]
    }

    /// The status line and fields, up to and with the empty line.
    ///
    /// - Parameter contentLength: what to announce, which a fault makes differ from the content.
    func head(date: Date, contentLength: Int, keepsAlive: Bool) -> [UInt8] {
        var lines = [
            "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")",
            "Server: httpdns-emulator",
            "Date: \(Self.text(of: date))",
            "Content-Length: \(contentLength)",
            "Connection: \(keepsAlive ? "keep-alive" : "close")",
        ]
        lines += headers.map { "\($0.name): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// The date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    private static func text(of date: Date) -> String {
        date.formatted(
            Date.VerbatimFormatStyle(
                format: """
                    \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \
                    \(year: .padded(4)) \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\
                    \(minute: .twoDigits):\(second: .twoDigits) GMT
                    """,
                locale: Locale(identifier: "en_US_POSIX"),
                timeZone: .gmt,
                calendar: Calendar(identifier: .gregorian)
            )
        )
    }

    /// The reason phrases of RFC 9110 §15 (429 and 431: RFC 6585) for the codes we send.
    private static let reasons = [
        200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
        413: "Content Too Large", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 505: "HTTP Version Not Supported",
    ]
}

/// What is sent for a request, and how the connection behaves while sending it.
struct Reply: Sendable {
    /// What an honest connection would send.
    var response: Response

    /// How long to wait before the first octet.
    var delay: Duration = .zero

    /// The fate of the connection.
    var delivery = Delivery.whole

    /// What the connection does with the response.
    enum Delivery: Sendable, Equatable {
        /// Sends it.
        case whole
        /// Announces the whole content, sends this many octets of it (nil: half), then FIN.
        case truncated(after: Int?)
        /// Sends the content, then zeros (digits) up to this many octets.
        case filled(to: Int)
        /// Sends octets that are not HTTP, then FIN.
        case noise
        /// Sends nothing until the client gives up.
        case silence
        /// Sends FIN at once.
        case close
        /// Sends RST at once.
        case reset
    }
}
