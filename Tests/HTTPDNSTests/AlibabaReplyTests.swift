// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Alibaba's replies (documents 2978980, 52679 and 2868210)")
struct AlibabaReplyTests {
    private func read(
        _ body: String,
        _ encryption: Alibaba.Encryption = .none,
        families: Families = .both
    ) throws -> VendorAnswer {
        let answers = try alibaba(encryption).answers(
            to: lookup("www.aliyun.com", families: families),
            in: ok(body)
        )
        #expect(answers.count == 1)
        return try #require(answers.first)
    }

    private func read1(_ body: String, _ lookup: VendorQuery) throws -> [VendorAnswer] {
        try alibaba(api: .v1).answers(to: lookup, in: ok(body))
    }

    private func expectKnown(_ answer: VendorAnswer) throws {
        #expect(
            answer.v4?.addresses == [try address("192.0.2.10"), try address("192.0.2.11")]
        )
        #expect(answer.v4?.ttl == 60)
        #expect(answer.v6?.addresses == [])
        #expect(answer.v6?.reason == .noRecord)
        #expect(answer.denial == nil)
    }

    @Test("an unencrypted reply is accepted without an encryption mode")
    func plain() throws {
        let data = AlibabaVectors.plainData
        try expectKnown(read(#"{"code":"success","mode":"0","data":\#(data)}"#))
        try expectKnown(read(#"{"code":"success","mode":0,"data":\#(data)}"#))
        try expectKnown(read(#"{"code":"success","data":\#(data)}"#))
    }

    @Test("encrypted replies are decrypted")
    func sealed() throws {
        let cbc = AlibabaVectors.cbcData
        let gcm = AlibabaVectors.gcmData
        try expectKnown(read(#"{"code":"success","mode":1,"data":"\#(cbc)"}"#, .cbc))
        try expectKnown(read(#"{"code":"success","mode":"2","data":"\#(gcm)"}"#, .gcm))
    }

    @Test("a reply is accepted only if it has the encryption mode of the request")
    func downgrade() throws {
        let plain = AlibabaVectors.plainData
        for body in [
            #"{"code":"success","mode":0,"data":\#(plain)}"#,
            #"{"code":"success","data":\#(plain)}"#,
            #"{"code":"success","mode":2,"data":\#(plain)}"#,
            #"{"code":"success","mode":1,"data":"\#(AlibabaVectors.cbcData)"}"#,
            #"{"code":"success","mode":2,"data":"\#(AlibabaVectors.cbcData)"}"#,
            #"{"code":"success","mode":2,"data":"not base64"}"#,
            #"{"code":"success","mode":2,"data":""}"#,
        ] {
            #expect(throws: VendorError.undecryptable) { try read(body, .gcm) }
        }
        #expect(throws: VendorError.unreadable(.member("mode"))) {
            try read(#"{"code":"success","mode":2,"data":"\#(AlibabaVectors.gcmData)"}"#)
        }
    }

    @Test("the answers to a batch have the order of the names in the request")
    func batch() throws {
        let names = try lookup("a.example.com", "b.example.com", "c.example.com")
        let answers = try alibaba().answers(
            to: names,
            in: ok(
                #"""
                {"code":"success","mode":0,"data":{"answers":[
                {"dn":"C.example.com.","v4":{"ips":["192.0.2.3"],"ttl":3},"v6":{"ips":["2001:db8::3"],"ttl":33}},
                {"dn":"a.example.com","v4":{"ips":["192.0.2.1"],"ttl":1}},
                {"dn":"a.example.com","v4":{"ips":["192.0.2.9"],"ttl":9}}]}}
                """#
            )
        )
        #expect(answers.map(\.name) == names.names)
        #expect(answers[0].v4 == AddressSet(addresses: [try address("192.0.2.1")], ttl: 1))
        #expect(answers[0].v6 == nil)
        #expect(answers[1].isEmpty && answers[1].v4 == AddressSet.none)
        #expect(answers[2].v6 == AddressSet(addresses: [try address("2001:db8::3")], ttl: 33))
    }

    @Test(
        "a family with an undocumented `no_ip_code` does not count as empty",
        arguments: [
            (#","no_ip_code":"RRNotExist""#, true), (#","no_ip_code":"DomainNotExist""#, true),
            ("", true), (#","no_ip_code":"SomethingElse""#, false),
            (#","no_ip_code":"<b>""#, false),
        ]
    )
    func emptyFamily(code: String, isKnown: Bool) throws {
        let answer = try read(
            #"{"code":"success","data":{"answers":[{"dn":"www.aliyun.com","#
                + #""v4":{"ips":["192.0.2.1"],"ttl":60},"v6":{"ips":[],"ttl":60\#(code)}}]}}"#
        )
        #expect((answer.v6 != nil) == isKnown)
        #expect(answer.v4?.addresses.count == 1)
    }

    @Test("a reply in which a family is not a JSON object is unreadable", arguments: ["v4", "v6"])
    func familyOfAnotherForm(key: String) {
        #expect(throws: VendorError.unreadable(.member(key))) {
            try read(
                #"{"code":"success","data":{"answers":[{"dn":"www.aliyun.com","\#(key)":[]}]}}"#
            )
        }
    }

    @Test("a reply without addresses does not mean NXDOMAIN")
    func neverNXDomain() throws {
        let empty = #"{"ips":[],"ttl":60,"no_ip_code":"DomainNotExist"}"#
        let answer = try read(
            #"{"code":"success","data":{"answers":[{"dn":"www.aliyun.com","v4":\#(empty),"#
                + #""v6":\#(empty)}]}}"#
        )
        #expect(answer.isEmpty && answer.denial == nil)
        #expect(answer.v4?.reason == .noDomain)
    }

    @Test("v1: both families of a reply have the same TTL")
    func v1() throws {
        let answers = try read1(
            #"""
            {"host":"www.aliyun.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":57,
            "origin_ttl":120,"client_ip":"192.0.2.99","extra":"{&quot;a&quot;:1}"}
            """#,
            lookup("www.aliyun.com")
        )
        #expect(answers[0].v4 == AddressSet(addresses: [try address("192.0.2.1")], ttl: 57))
        #expect(answers[0].v6 == AddressSet(addresses: [try address("2001:db8::1")], ttl: 57))
    }

    @Test("v1: an unregistered name has an empty answer")
    func v1Empty() throws {
        let body = #"{"host":"www.aliyun.com","ips":[],"ttl":300}"#
        #expect(try read1(body, lookup("www.aliyun.com"))[0].isEmpty)
        #expect(try read1(body, lookup("www.aliyun.com"))[0].v6 == nil)
    }

    @Test("v1: the reply to a batch has one record per name and family")
    func v1Batch() throws {
        let names = try lookup("www.aliyun.com", "www.taobao.com", "c.example.com")
        let answers = try read1(
            #"""
            {"dns":[
            {"host":"www.aliyun.com","client_ip":"x","ips":["192.0.2.1"],"type":1,"ttl":106,"origin_ttl":120},
            {"host":"www.taobao.com","ips":["2001:db8::2","192.0.2.2"],"ttl":20},
            {"host":"www.aliyun.com","ips":["2001:db8::1"],"type":28,"ttl":60}]}
            """#,
            names
        )
        #expect(answers[0].v4 == AddressSet(addresses: [try address("192.0.2.1")], ttl: 106))
        #expect(answers[0].v6 == AddressSet(addresses: [try address("2001:db8::1")], ttl: 60))
        #expect(answers[1].v4 == AddressSet(addresses: [try address("192.0.2.2")], ttl: 20))
        #expect(answers[1].v6 == AddressSet(addresses: [try address("2001:db8::2")], ttl: 20))
        #expect(answers[2].isEmpty)
    }
}

struct RefusalCase: Sendable, CustomTestStringConvertible {
    let code: String
    let status: Int
    let kind: VendorError.Kind
    let verdict: VendorError.Verdict
    var testDescription: String { code }

    static let all: [RefusalCase] = [
        .init(code: "MissingArgument", status: 400, kind: .refused, verdict: .serverFailed),
        .init(code: "InvalidHost", status: 400, kind: .refused, verdict: .serverFailed),
        .init(code: "TooManyHosts", status: 400, kind: .refused, verdict: .serverFailed),
        .init(code: "LimitExceeded", status: 400, kind: .refused, verdict: .serverFailed),
        .init(code: "SdnsNotSupported", status: 400, kind: .refused, verdict: .serverFailed),
        .init(code: "InvalidAccount", status: 403, kind: .unauthorized, verdict: .accountRefused),
        .init(code: "AccountNotExists", status: 403, kind: .unauthorized, verdict: .accountRefused),
        .init(
            code: "UnsignedInterfaceDisabled",
            status: 403,
            kind: .unauthorized,
            verdict: .accountRefused
        ),
        .init(code: "InvalidSignature", status: 403, kind: .unauthorized, verdict: .accountRefused),
        .init(code: "SignatureExpired", status: 403, kind: .wrongTime, verdict: .accountRefused),
        .init(code: "InvalidDuration", status: 403, kind: .wrongTime, verdict: .accountRefused),
        .init(code: "InvalidDuration", status: 400, kind: .wrongTime, verdict: .accountRefused),
        .init(code: "ServiceLevelDeny", status: 403, kind: .serverStatus, verdict: .serverFailed),
        .init(code: "MethodNotAllowed", status: 405, kind: .serverStatus, verdict: .serverFailed),
        .init(code: "InternalError", status: 500, kind: .serverStatus, verdict: .serverFailed),
        .init(code: "Throttling.User", status: 400, kind: .limited, verdict: .serverFailed),
        .init(code: "QuotaExceeded", status: 403, kind: .limited, verdict: .serverFailed),
        .init(code: "TooFast", status: 429, kind: .limited, verdict: .serverFailed),
        .init(code: "Unheard", status: 403, kind: .unauthorized, verdict: .accountRefused),
        .init(code: "Unheard", status: 502, kind: .serverStatus, verdict: .serverFailed),
    ]
}

extension AlibabaReplyTests {
    @Test("each error code has the same meaning in v1 and v2", arguments: RefusalCase.all)
    func codes(_ refusal: RefusalCase) throws {
        let reply = HTTPReply(refusal.status, #"{"code":"\#(refusal.code)"}"#)
        for api in Alibaba.API.allCases {
            let vendor = try alibaba(api: api)
            let error = try #require(throws: VendorError.self) {
                try vendor.answers(to: lookup("www.aliyun.com"), in: reply)
            }
            #expect(error.kind == refusal.kind)
            #expect(error.verdict == refusal.verdict)
            let mayBeTime = refusal.code == "Unheard" && refusal.status == 403
            #expect(error.mayBeClockSkew == (refusal.kind == .wrongTime || mayBeTime))
            #expect(error.wantsOtherServers == (refusal.code == "ServiceLevelDeny"))
            if refusal.kind != .limited { #expect(error.description.contains(refusal.code)) }
            #expect(throws: error) { try vendor.servers(in: reply, from: server()) }
        }
    }

    @Test("an error code in a reply with HTTP status 200 is an error", arguments: RefusalCase.all)
    func codesInBody(_ refusal: RefusalCase) throws {
        let error = try #require(throws: VendorError.self) {
            try read(#"{"code":"\#(refusal.code)","mode":"0"}"#)
        }
        guard !["Unheard", "TooFast"].contains(refusal.code) else {
            #expect(error.kind == .serverStatus)
            return
        }
        #expect(error.kind == refusal.kind)
    }

    @Test(
        "without an error code, the HTTP status determines the error",
        arguments: ["", "<html>", "[]", #"{"code":1}"#, #"{"code":"\u0007<script>"}"#]
    )
    func statuses(body: String) throws {
        let vendor = try alibaba()
        let expected: [(Int, VendorError)] = [
            (401, .unauthorized(status: 401)), (403, .unauthorized(status: 403)),
            (400, .serverStatus(400)), (302, .serverStatus(302)), (503, .serverStatus(503)),
            (429, .limited(retryAfter: nil)),
        ]
        for (status, error) in expected {
            #expect(throws: error) {
                try vendor.answers(to: lookup("www.aliyun.com"), in: HTTPReply(status, body))
            }
        }
        #expect(VendorError.unauthorized(status: 403).mayBeClockSkew)
    }

    @Test("Retry-After applies even with an error code")
    func retryAfter() throws {
        var reply = HTTPReply(429, #"{"code":"Throttling"}"#)
        reply.retryAfter = "7"
        #expect(throws: VendorError.limited(retryAfter: .seconds(7))) {
            try alibaba().answers(to: lookup("www.aliyun.com"), in: reply)
        }
    }
}
