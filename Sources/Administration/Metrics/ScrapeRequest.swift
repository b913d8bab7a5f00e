// SPDX-License-Identifier: Apache-2.0

/// Head of an HTTP request (RFC 9112), parsed as far as the server needs.
struct ScrapeRequest: Equatable {
    static let maximumOctets = 8192
    var decision: Decision
    var isHead = false

    var keepsConnection = false

    enum Decision: Equatable {
        case metrics(Exposition.Form)
        case malformed
        case notFound
        case notAllowed
        case hasBody
        case wrongVersion
    }

    /// Returns nil if the head is incomplete.
    static func end(of octets: [UInt8]) -> Int? {
        var isEmpty = false
        for (index, octet) in octets.enumerated() {
            if octet == UInt8(ascii: "\n") {
                if isEmpty { return index + 1 }
                isEmpty = true
            } else if octet != UInt8(ascii: "\r") {
                isEmpty = false
            }
        }
        return nil
    }

    init(_ octets: some Sequence<UInt8>) {
        self.init(decision: .malformed)
        let octets = Array(octets)
        // Tab, CR and LF are the only permitted control characters: other control characters could
        // hide a second request (RFC 9112 §2.2, §5).
        guard
            octets.allSatisfy({
                (0x20...0x7E).contains($0) || $0 >= 0x80 || "\t\r\n".utf8.contains($0)
            })
        else { return }
        var lines = String(decoding: octets, as: UTF8.self)
            .replacing("\r\n", with: "\n").split(separator: "\n")[...]
        guard let first = lines.popFirst(), !lines.contains(where: { $0.contains("\r") }) else {
            return
        }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty, words[2].hasPrefix("HTTP/")
        else { return }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
            decision = .wrongVersion
            return
        }
        guard let fields = Self.fields(lines) else { return }
        let isCurrent = words[2] == "HTTP/1.1"
        // An HTTP/1.1 request must have one Host field (RFC 9112 §3.2).
        guard !isCurrent || fields["host"]?.count == 1 else { return }
        isHead = words[0] == "HEAD"
        let options = Self.members(of: fields["connection"])
        keepsConnection = isCurrent && !options.contains("close")
        guard fields["transfer-encoding"] == nil,
            fields["content-length"].map({ $0 == ["0"] }) ?? true
        else {
            keepsConnection = false
            decision = .hasBody
            return
        }
        guard words[0] == "GET" || isHead else {
            keepsConnection = false
            decision = .notAllowed
            return
        }
        decision =
            Self.path(words[1]) == "/metrics"
            ? .metrics(Self.form(fields["accept"] ?? [])) : .notFound
    }

    private init(decision: Decision) { self.decision = decision }

    // MARK: - Parts

    private static func fields(_ lines: ArraySlice<Substring>) -> [String: [String]]? {
        var fields: [String: [String]] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
                !line[..<colon].contains(where: { $0 == " " || $0 == "\t" })
            else { return nil }
            let value = String(line[line.index(after: colon)...].trimmed)
            fields[line[..<colon].lowercased(), default: []].append(value)
        }
        return fields
    }

    private static func members(of values: [String]?) -> [String] {
        (values ?? []).flatMap { $0.lowercased().split(separator: ",") }.map { String($0.trimmed) }
    }

    /// Returns the path of a request target, which may be an absolute URL (RFC 9112 §3.2.2).
    private static func path(_ target: Substring) -> Substring {
        var path = target.prefix { $0 != "?" }
        if path.lowercased().hasPrefix("http://") { path = path.dropFirst(7).drop { $0 != "/" } }
        return path
    }

    // MARK: - Negotiation

    /// Returns the exposition format that the `Accept` values prefer (RFC 9110 §12.5.1).
    private static func form(_ accept: [String]) -> Exposition.Form {
        var (plain, open) = (0.0, 0.0)
        for range in members(of: accept) {
            let parts = range.split(separator: ";").map { String($0.trimmed) }
            let quality =
                parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
                ?? 1
            let version = parts.dropFirst().first { $0.hasPrefix("version=") }?.dropFirst(8)
            switch parts.first {
            case "application/openmetrics-text" where version == nil || version == "1.0.0":
                open = max(open, quality)
            case "text/plain" where version == nil || version == "0.0.4", "text/*", "*/*":
                plain = max(plain, quality)
            default: break
            }
        }
        return open > 0 && open >= plain ? .openMetrics : .prometheus
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = drop { $0 == " " || $0 == "\t" }
        while rest.last == " " || rest.last == "\t" { rest.removeLast() }
        return rest
    }
}
