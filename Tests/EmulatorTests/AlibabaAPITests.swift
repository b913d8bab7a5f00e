// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Alibaba's RPC interface")
struct AlibabaAPITests {
    /// Request at 2023-11-14 22:13:20 UTC, signed with Python's hmac.
    private static let path =
        "/?AccessKeyId=testid&Action=GetResolveCountSummary&Format=JSON&Granularity=month"
        + "&SignatureMethod=HMAC-SHA1&SignatureNonce=00000000000000000000000000000000"
        + "&SignatureVersion=1.0&TimeSpan=1&Timestamp=2023-11-14T22%3A13%3A20Z"
        + "&Version=2016-02-01&Signature=%2F6UcLOixrAkEva5iWxIkgt7qs5Q%3D"

    @Test func `a signed request returns the count of answers with an address`() throws {
        let emulator = try RunningEmulator(at: 1_700_000_000)
        #expect(try emulator.get(Self.path).text.contains(#"{"Http":0,"Https":0}"#))
        _ = try emulator.get("/100000/d?host=www.example.com&query=4")
        _ = try emulator.get("/100000/d?host=none.example.com&query=4")
        _ = try emulator.get(
            "/100000/d?host=www.example.com&query=4,6",
            "-H",
            "X-Forwarded-Proto: https"
        )
        let text = try emulator.get(Self.path).text
        #expect(text.contains(#"{"Http":1,"Https":2}"#), "\(text)")
        #expect(try emulator.calls().channels["alibaba-api"] == 2)
    }

    @Test(
        arguments: [
            ("testid", "other", "InvalidAccessKeyId.NotFound"),
            ("%2F6U", "%2F6V", "SignatureDoesNotMatch"), ("TimeSpan=1", "TimeSpan=2", "Signature"),
            ("TimeSpan=1&", "", "MissingParameter"), ("Summary", "Other", "InvalidAction"),
        ]
    )
    func `a changed request is refused`(text: String, other: String, code: String) throws {
        let emulator = try RunningEmulator(at: 1_700_000_000)
        let reply = try emulator.get(Self.path.replacing(text, with: other))
        #expect(reply.status != 200 && reply.text.contains(code), "\(reply.text)")
    }

    @Test func `a request is valid for 15 minutes`() throws {
        let reply = try RunningEmulator(at: 1_700_001_000).get(Self.path)
        #expect(reply.status == 400 && reply.text.contains("InvalidTimeStamp.Expired"))
    }
}
