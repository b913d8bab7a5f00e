// SPDX-License-Identifier: Apache-2.0
import Foundation

struct Response: Sendable {
    var status = 200

    /// Header fields except Date, Server, Content-Length and Connection.
    var headers: [(name: String, value: String)] = []

    var body: [UInt8] = []

    init(status: Int = 200, text: String = "", type: String = "text/plain; charset=utf-8") {
        self.status = status
        self.body = Array(text.utf8)
        self.headers = [("Content-Type", type)]
    }

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

    /// Returns a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
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

    private static let reasons = [
        200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
        413: "Content Too Large", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 505: "HTTP Version Not Supported",
    ]
}

struct Reply: Sendable {
    var response: Response
    var delay: Duration = .zero
    var delivery = Delivery.whole

    enum Delivery: Sendable, Equatable {
        case whole
        case truncated(after: Int?)
        case filled(to: Int)
        case noise
        case silence
        case close
        case reset
    }
}
