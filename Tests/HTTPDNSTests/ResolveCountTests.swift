// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Alibaba's own count of resolutions")
struct ResolveCountTests {
    private let call = AlibabaResolveCount(keyID: Secret("testid"), keySecret: Secret("testsecret"))

    @Test("the signature equals the example in the vendor's documentation")
    func documented() throws {
        let query = try call.query(
            [("Action", "DescribeRegions"), ("Format", "XML"), ("Version", "2014-05-26")],
            at: "2016-02-23T12:46:24Z",
            nonce: "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"
        )
        #expect(query.hasSuffix("&Signature=OLeaidS1JvxuMvnyHOwuJ%2BuX5qY%3D"))
    }

    @Test("the request equals the request of an independent implementation")
    func request() throws {
        let zeros = Entropy { (count) throws(VendorError) in [UInt8](repeating: 0, count: count) }
        let request = try call.request(
            at: server("192.0.2.1:443"),
            now: Simulation.wall,
            entropy: zeros
        )
        #expect(
            request.url == "https://httpdns-api.aliyuncs.com/?AccessKeyId=testid"
                + "&Action=GetResolveCountSummary&Format=JSON&Granularity=month"
                + "&SignatureMethod=HMAC-SHA1&SignatureNonce=00000000000000000000000000000000"
                + "&SignatureVersion=1.0&TimeSpan=1&Timestamp=2023-11-14T22%3A13%3A20Z"
                + "&Version=2016-02-01&Signature=%2F6UcLOixrAkEva5iWxIkgt7qs5Q%3D"
        )
        #expect(!request.redacted.contains("testid"))
    }

    @Test(
        "times have the form of ISO 8601",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"), (1_709_251_199, "2024-02-29T23:59:59Z"),
        ] as [(Int64, String)]
    )
    func times(seconds: Int64, text: String) {
        #expect(AlibabaResolveCount.timestamp(seconds) == text)
    }

    @Test("the counts in a reply may be numbers or strings, and some may be missing")
    func reply() throws {
        func count(_ body: String) throws -> ResolveCount { try call.count(in: ok(body)) }
        #expect(
            try count(#"{"ResolveSummary":{"Http":12,"Https":"3","Http6":1}}"#)
                == ResolveCount(http: 13, https: 3)
        )
        for body in ["{}", #"{"ResolveSummary":{}}"#, #"{"ResolveSummary":{"Http":-1}}"#, "no"] {
            #expect(throws: VendorError.self) { try count(body) }
        }
        let refused = HTTPReply(404, #"{"Code":"InvalidAccessKeyId.NotFound","Message":"x"}"#)
        let error = #expect(throws: VendorError.self) { try call.count(in: refused) }
        #expect(error.map { "\($0)" } == "HTTP 404, InvalidAccessKeyId.NotFound")
    }

    @Test("a vendor client fetches the count over TLS, and does not count this request as a call")
    @ServiceLoop
    func fetched() async throws {
        let world = Simulation()
        world.script = { _ in .reply(ok(#"{"ResolveSummary":{"Http":1,"Https":2}}"#)) }
        let client = try world.client()
        let (call, place) = (call, try server("192.0.2.9:443"))
        let result = try await world.value(
            of: world.begin { await client.fetchCount(call, at: place) }
        )
        #expect(try result.get() == ResolveCount(http: 1, https: 2))
        #expect(world.sent.map(\.request.server) == [place])
        #expect(client.statistics.tries == 0)
    }

    @Test(
        "Base64 is encoded with padding (RFC 4648 §10)",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"),
        ]
    )
    func base64(text: String, encoded: String) {
        #expect([UInt8](text.utf8).base64 == encoded)
        #expect(Base64.decode(encoded.utf8) == [UInt8](text.utf8))
    }
}
