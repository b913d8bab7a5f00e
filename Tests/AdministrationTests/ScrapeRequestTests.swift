// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Administration

@Suite("Requests of a metrics scraper (RFC 9112)")
struct ScrapeRequestTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let label: String
        let head: String
        let decision: ScrapeRequest.Decision
        var keeps = false
        var testDescription: String { label }
    }

    private static let host = "\r\nHost: x\r\n"

    @Test(arguments: [
        Case(
            "a plain request",
            "GET /metrics HTTP/1.1\(host)\r\n",
            .metrics(.prometheus),
            keeps: true
        ),
        Case(
            "a query",
            "GET /metrics?name[]=a HTTP/1.1\(host)\r\n",
            .metrics(.prometheus),
            keeps: true
        ),
        Case(
            "a whole URL",
            "GET http://x:9353/metrics HTTP/1.1\(host)\r\n",
            .metrics(.prometheus),
            keeps: true
        ),
        Case(
            "bare line feeds",
            "GET /metrics HTTP/1.1\nHost: x\n\n",
            .metrics(.prometheus),
            keeps: true
        ),
        Case("HTTP/1.0", "GET /metrics HTTP/1.0\r\n\r\n", .metrics(.prometheus)),
        Case(
            "the last one",
            "GET /metrics HTTP/1.1\(host)Connection: foo, Close\r\n\r\n",
            .metrics(.prometheus)
        ),
        Case("another path", "GET / HTTP/1.1\(host)\r\n", .notFound, keeps: true),
        Case("a path below", "GET /metrics/ HTTP/1.1\(host)\r\n", .notFound, keeps: true),
        Case("another method", "POST /metrics HTTP/1.1\(host)\r\n", .notAllowed),
        Case("a tunnel", "CONNECT a:443 HTTP/1.1\(host)\r\n", .notAllowed),
        Case("a body", "GET /metrics HTTP/1.1\(host)Content-Length: 4\r\n\r\n", .hasBody),
        Case(
            "no body",
            "GET /metrics HTTP/1.1\(host)Content-Length: 0\r\n\r\n",
            .metrics(.prometheus),
            keeps: true
        ),
        Case(
            "a body of two lengths",
            "GET /metrics HTTP/1.1\(host)Content-Length: 0\r\nContent-Length: 9\r\n\r\n",
            .hasBody
        ),
        Case("chunks", "GET /metrics HTTP/1.1\(host)Transfer-Encoding: chunked\r\n\r\n", .hasBody),
        Case("no host", "GET /metrics HTTP/1.1\r\n\r\n", .malformed),
        Case("two hosts", "GET /metrics HTTP/1.1\(host)Host: y\r\n\r\n", .malformed),
        Case("HTTP/2", "GET /metrics HTTP/2.0\(host)\r\n", .wrongVersion),
        Case("another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", .malformed),
        Case("HTTP/0.9", "GET /metrics\r\n\r\n", .malformed),
        Case("nothing", "\r\n\r\n", .malformed),
        Case("a space before a colon", "GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", .malformed),
        Case("a folded line", "GET /metrics HTTP/1.1\(host)A: b\r\n c\r\n\r\n", .malformed),
        Case("NUL", "GET /metrics HTTP/1.1\(host)A: \u{0}\r\n\r\n", .malformed),
        Case(
            "a bare carriage return",
            "GET /metrics HTTP/1.1\(host)A: b\rC: d\r\n\r\n",
            .malformed
        ),
    ])
    func `a valid request is answered; an invalid one gets an error with reason`(_ sample: Case) {
        let octets = Array(sample.head.utf8)
        #expect(ScrapeRequest.end(of: octets) == octets.count)
        let request = ScrapeRequest(octets)
        #expect(request.decision == sample.decision)
        #expect(request.keepsConnection == sample.keeps)
    }

    @Test("the head of a request ends at an empty line")
    func end() {
        let head = Array("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        for count in 0..<head.count { #expect(ScrapeRequest.end(of: Array(head[..<count])) == nil) }
        #expect(ScrapeRequest.end(of: head + head) == head.count)
        #expect(ScrapeRequest(head).isHead)
    }

    @Test(
        "the server chooses the format with the higher weight in `Accept` (RFC 9110 §12.5.1)",
        arguments: [
            ("", Exposition.Form.prometheus),
            ("*/*", .prometheus),
            ("text/html", .prometheus),
            ("application/openmetrics-text", .openMetrics),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
            ("application/openmetrics-text;version=0.0.1", .prometheus),
            ("application/openmetrics-text;q=0", .prometheus),
            ("text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.5", .prometheus),
            (
                // `Accept` field of Prometheus 2.
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
                    + "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
            ),
            (
                // `Accept` field of Prometheus 3.
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                    + "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
                    + "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                .openMetrics
            ),
        ]
    )
    func negotiation(_ accept: String, _ form: Exposition.Form) {
        let head = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: \(accept)\r\n\r\n"
        #expect(ScrapeRequest(head.utf8).decision == .metrics(form))
    }
}

extension ScrapeRequestTests.Case {
    init(_ label: String, _ head: String, _ decision: ScrapeRequest.Decision, keeps: Bool = false) {
        self.init(label: label, head: head, decision: decision, keeps: keeps)
    }
}
