// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

struct HostileVendor: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable () throws -> any Vendor

    let body: @Sendable (_ name: String, _ addresses: String, _ ttl: String) -> String

    var good: String { body(#""www.example.com""#, #"["192.0.2.1"]"#, "60") }

    static let all: [HostileVendor] = [
        HostileVendor(testDescription: "alibaba v2", make: { try alibaba() }) {
            #"{"code":"success","mode":0,"data":{"answers":[{"dn":\#($0),"v4":{"ips":\#($1),"ttl":\#($2)}}]}}"#
        },
        HostileVendor(testDescription: "alibaba v1", make: { try alibaba(api: .v1) }) {
            #"{"host":\#($0),"ips":\#($1),"ttl":\#($2)}"#
        },
        HostileVendor(
            testDescription: "baidu",
            make: { try Baidu(account: "1", secret: Secret("1")) }
        ) {
            #"{"msg":"ok","data":{\#($0):{"ipv4":{"ip":\#($1),"ttl":\#($2)}}}}"#
        },
        HostileVendor(
            testDescription: "volcengine",
            make: { try Volcengine(account: "1", secret: Secret("1")) }
        ) {
            #"{"host":\#($0),"ips":\#($1),"ttl":\#($2)}"#
        },
    ]
}

@Suite("JSON replies of hostile servers")
struct JSONVendorHostileTests {
    private func read(_ vendor: HostileVendor, _ body: String) throws -> VendorAnswer {
        try #require(
            try vendor.make().answers(to: lookup("www.example.com", families: .v4), in: ok(body))
                .first
        )
    }

    @Test("a valid reply may have further members", arguments: HostileVendor.all)
    func good(_ vendor: HostileVendor) throws {
        let more = vendor.good.dropLast() + #","x":{"y":[1.5,null,{"z":"\u0000"}]}}"#
        for body in [vendor.good, " \n" + vendor.good + "\r\n", String(more)] {
            #expect(try read(vendor, body).v4?.addresses == [try address("192.0.2.1")])
        }
    }

    @Test(
        "the name in the reply may differ in letter case, final dot and escapes",
        arguments: HostileVendor.all
    )
    func sameName(_ vendor: HostileVendor) throws {
        for name in [#""WWW.Example.COM""#, #""www.example.com.""#, #""\u0077ww.example.com""#] {
            let answer = try read(vendor, vendor.body(name, #"["192.0.2.1"]"#, "60"))
            #expect(answer.v4?.addresses.count == 1)
            #expect(answer.name.text == "www.example.com")
        }
    }

    @Test("a reply with another name is an error", arguments: HostileVendor.all)
    func otherName(_ vendor: HostileVendor) {
        for name in [
            #""example.com""#, #""www.example.com.evil.cn""#, #""""#, #""www.example.com\u0000""#,
            #""www.example.com ""#, #""ww\u0456.example.com""#, #""..""#,
            "\"" + String(repeating: "a", count: 5000) + "\"",
        ] {
            #expect(throws: VendorError.wrongName, "\(name.prefix(30))") {
                try read(vendor, vendor.body(name, #"["192.0.2.1"]"#, "60"))
            }
        }
    }

    @Test("a body that is not one complete JSON reply is unreadable", arguments: HostileVendor.all)
    func unreadable(_ vendor: HostileVendor) throws {
        let good = vendor.good
        let bodies = [
            "", " ", "null", "[]", "{}", "0", "\"\"", "<html>Log in</html>", good + good,
            String(good.dropLast()), "\u{feff}" + good, good + "\u{0}",
            String(repeating: "[", count: 65_000), String(repeating: #"{"a":"#, count: 13_000),
            good + String(repeating: " ", count: VendorLimits.maximumJSON),
            String(good.dropLast()) + #","x":1,"x":2}"#,
            String(good.dropLast()) + #","x":01}"#,
            String(good.dropLast()) + #","x":"\ud800"}"#,
        ]
        for body in bodies {
            let error = try #require(throws: VendorError.self) { try read(vendor, body) }
            #expect(error.kind == .unreadable, "\(body.prefix(40))")
            #expect(error.verdict == .serverFailed)
        }
        let notUTF8 = HTTPReply(status: 200, body: [UInt8](good.utf8.dropLast()) + [0xFF, 0x7D])
        #expect(throws: VendorError.self) {
            try vendor.make().answers(to: lookup("www.example.com"), in: notUTF8)
        }
    }

    @Test(
        "a reply is unreadable if the list or a name has the wrong JSON type",
        arguments: HostileVendor.all
    )
    func wrongTypes(_ vendor: HostileVendor) throws {
        for list in ["{}", "1", "true", #""192.0.2.1""#, #"{"0":"192.0.2.1"}"#] {
            let error = try #require(throws: VendorError.self) {
                try read(vendor, vendor.body(#""www.example.com""#, list, "60"))
            }
            #expect(error.kind == .unreadable)
        }
        for name in ["1", "[]", "{}", "true"] where vendor.testDescription != "baidu" {
            let error = try #require(throws: VendorError.self) {
                try read(vendor, vendor.body(name, #"["192.0.2.1"]"#, "60"))
            }
            #expect(error.kind == .unreadable)
        }
    }

    @Test(
        "a reply is unreadable if its TTL is not null and not an integer from 0 to 2147483647",
        arguments: HostileVendor.all
    )
    func ttl(_ vendor: HostileVendor) throws {
        for ttl in [
            "-1", "1.5", "60.0", "1e3", "2147483648", "4294967296", "99999999999999999999",
            #""60""#, "[]", "{}", "true",
        ] {
            let error = try #require(throws: VendorError.self, "\(ttl)") {
                try read(vendor, vendor.body(#""www.example.com""#, #"["192.0.2.1"]"#, ttl))
            }
            #expect(error.kind == .unreadable)
        }
        for (ttl, seconds) in [("0", 0), ("2147483647", VendorLimits.maximumTTL), ("null", 60)] {
            let answer = try read(
                vendor,
                vendor.body(#""www.example.com""#, #"["192.0.2.1"]"#, ttl)
            )
            #expect(answer.v4?.ttl == seconds)
        }
    }

    @Test(
        "invalid addresses are dropped; a reply with only invalid addresses is unreadable",
        arguments: HostileVendor.all
    )
    func addresses(_ vendor: HostileVendor) throws {
        for item in [
            #""""#, #""192.0.2""#, #""192.0.2.256""#, #""192.0.2.1 ""#, #""0300.0.2.1""#, "1",
            "null",
            #""192.0.2.1\u0000""#, #""fe80::1%eth0""#, #""::g""#, #""192.0.2.1/24""#, "[]",
            #""http://192.0.2.1""#, "\"" + String(repeating: "1", count: 9000) + "\"",
        ] {
            let among = try read(
                vendor,
                vendor.body(#""www.example.com""#, #"[\#(item),"192.0.2.1"]"#, "60")
            )
            #expect(among.v4?.addresses == [try address("192.0.2.1")], "\(item.prefix(20))")
            #expect(among.v4?.dropped == 1)
            let error = try #require(throws: VendorError.self) {
                try read(vendor, vendor.body(#""www.example.com""#, "[\(item)]", "60"))
            }
            #expect(error.kind == .unreadable)
        }
    }

    @Test("addresses that no server can have are dropped", arguments: HostileVendor.all)
    func unusable(_ vendor: HostileVendor) throws {
        for item in ["0.0.0.0", "127.0.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255"] {
            let answer = try read(
                vendor,
                vendor.body(#""www.example.com""#, #"["\#(item)"]"#, "60")
            )
            #expect(answer.isEmpty && answer.dropped == 1)
        }
    }

    @Test("at most 256 addresses per family are kept", arguments: HostileVendor.all)
    func many(_ vendor: HostileVendor) throws {
        let list = (0..<1000).map { #""192.0.\#($0 / 250 + 2).\#($0 % 250 + 1)""# }
            .joined(separator: ",")
        let answer = try read(vendor, vendor.body(#""www.example.com""#, "[\(list)]", "60"))
        #expect(answer.v4?.addresses.count == VendorLimits.maximumAddresses)
        #expect(answer.v4?.dropped == 744)
    }

    @Test("duplicate addresses are neither kept nor counted", arguments: HostileVendor.all)
    func duplicates(_ vendor: HostileVendor) throws {
        let list = Array(repeating: #""192.0.2.1","192.0.2.2""#, count: 1_000)
            .joined(separator: ",")
        let answer = try read(vendor, vendor.body(#""www.example.com""#, "[\(list)]", "60"))
        #expect(answer.v4?.addresses == [try address("192.0.2.1"), try address("192.0.2.2")])
        #expect(answer.v4?.dropped == 0)
    }

    @Test(
        "a reply with a status other than 200 is not an answer",
        arguments: HostileVendor.all
    )
    func statuses(_ vendor: HostileVendor) throws {
        for status in [201, 204, 301, 302, 307, 400, 404, 418, 500, 502, 503] {
            let error = try #require(throws: VendorError.self) {
                try vendor.make().answers(
                    to: lookup("www.example.com"),
                    in: HTTPReply(status, vendor.good)
                )
            }
            #expect(error.kind == .serverStatus)
            #expect(error.verdict == .serverFailed)
        }
    }

    @Test(
        "a damaged reply is either rejected or parsed within the limits",
        arguments: HostileVendor.all
    )
    func fuzz(_ hostile: HostileVendor) throws {
        let vendor = try hostile.make()
        let seeds = [
            hostile.good, hostile.body(#""www.example.com""#, #"["2001:db8::1","192.0.2.9"]"#, "9"),
            hostile.body(#""www.example.com""#, "[]", "0"),
        ].map { [UInt8]($0.utf8) }
        let alphabet = [UInt8](#"{}[]",:\0123456789.eEu-+nft"#.utf8) + [0x80, 0xFF, 0x00]
        let names = try lookup("www.example.com")
        var random = SeededGenerator(state: 4)
        for _ in 0..<5000 {
            var text = seeds.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...5, using: &random) where !text.isEmpty {
                let at = Int.random(in: 0..<text.count, using: &random)
                switch UInt8.random(in: 0..<5, using: &random) {
                case 0: text[at] = alphabet.randomElement(using: &random) ?? 0
                case 1: text[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: text.remove(at: at)
                case 3: text.insert(alphabet.randomElement(using: &random) ?? 0, at: at)
                default: text.insert(contentsOf: seeds.randomElement(using: &random) ?? [], at: at)
                }
            }
            do throws(VendorError) {
                let answers = try vendor.answers(
                    to: names,
                    in: HTTPReply(status: 200, body: text)
                )
                #expect(answers.map(\.name) == names.names)
                for set in [answers[0].v4, answers[0].v6].compactMap(\.self) {
                    #expect(set.addresses.count <= VendorLimits.maximumAddresses)
                    #expect(set.ttl <= VendorLimits.maximumTTL)
                    #expect(set.addresses.allSatisfy { $0.reach != .none })
                }
                #expect(answers[0].v4?.addresses.allSatisfy { $0.octets.count == 4 } ?? true)
                #expect(answers[0].v6?.addresses.allSatisfy { $0.octets.count == 16 } ?? true)
            } catch {
                let kinds: [VendorError.Kind] = [.unreadable, .wrongName, .serverStatus]
                #expect(kinds.contains(error.kind))
            }
        }
    }
}
