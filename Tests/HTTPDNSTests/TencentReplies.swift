// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import HTTPDNS

struct ReplyCase: Sendable, CustomTestStringConvertible {
    let label: String
    var name = "cloud.tencent.com"
    var families = Families.both
    let body: String
    /// Expected IPv4 part; nil if the reply says nothing about IPv4.
    var v4: Expected? = nil
    var v6: Expected? = nil

    struct Expected: Sendable {
        let addresses: [String]
        let ttl: UInt32
        init(_ addresses: [String], _ ttl: UInt32 = 60) {
            self.addresses = addresses
            self.ttl = ttl
        }
        static let none = Expected([])
    }

    var testDescription: String { label }
}

enum TencentReplies {
    /// Replies from documents 379/95497 and 379/95498.
    static let documented: [ReplyCase] = [
        ReplyCase(
            label: "addresses only",
            families: .v4,
            body: "2.3.3.4;2.3.3.5;2.3.3.6",
            v4: .init(["2.3.3.4", "2.3.3.5", "2.3.3.6"])
        ),
        ReplyCase(
            label: "ttl=1",
            families: .v4,
            body: "2.3.3.4;2.3.3.5;2.3.3.6,120",
            v4: .init(["2.3.3.4", "2.3.3.5", "2.3.3.6"], 120)
        ),
        ReplyCase(
            label: "ttl=1&clientip=1",
            families: .v4,
            body: "2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            v4: .init(["2.3.3.4", "2.3.3.5", "2.3.3.6"], 120)
        ),
        ReplyCase(
            label: "type=addrs",
            body: "2.3.3.4;2.3.3.5;2.3.3.6,120-"
                + "2402:4e00:0123:4567:0::2345;2403:4e00:0123:4567:0::2346,120|1.2.3.4",
            v4: .init(["2.3.3.4", "2.3.3.5", "2.3.3.6"], 120),
            v6: .init(["2402:4e00:123:4567::2345", "2403:4e00:123:4567::2346"], 120)
        ),
        ReplyCase(
            label: "query=1",
            families: .v4,
            body: "cloud.tencent.com.:2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            v4: .init(["2.3.3.4", "2.3.3.5", "2.3.3.6"], 120)
        ),
        ReplyCase(label: "no record", families: .v4, body: "", v4: ReplyCase.Expected.none),
        ReplyCase(
            label: "no record, both families",
            body: "",
            v4: ReplyCase.Expected.none,
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "no record, query=1, as the page prints it",
            families: .v4,
            body: "cloud.tencent.com|1.2.3.4",
            v4: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "no record, type=addrs",
            body: "cloud.tencent.com.:0-0|1.2.3.4",
            v4: ReplyCase.Expected.none,
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "only A, type=addrs",
            body: "cloud.tencent.com.:2.3.4.5;3.3.3.3-0|1.2.3.4",
            v4: .init(["2.3.4.5", "3.3.3.3"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "no record, in a batch",
            body: "cloud.tencent.com.:0",
            v4: ReplyCase.Expected.none,
            v6: ReplyCase.Expected.none
        ),
    ]

    /// Replies from the source code and the tests of the SDKs.
    ///
    /// Here, addresses in 2001:db8::/32 replace those in the Teredo prefix 2001::/32 (RFC 4380).
    static let fromTheKits: [ReplyCase] = [
        ReplyCase(
            label: "Android, A",
            families: .v4,
            body: "123.59.226.2;123.59.226.3,303|59.37.125.43",
            v4: .init(["123.59.226.2", "123.59.226.3"], 303)
        ),
        ReplyCase(
            label: "Android, both",
            name: "www.qq.com",
            body: "www.qq.com.:121.14.77.221;121.14.77.201,120-"
                + "2402:4e00:1020:1404:0:9227:71a3:83d2;2402:4e00:1020:1404:0:9227:71ab:2b74,120"
                + "|113.108.77.69",
            v4: .init(["121.14.77.221", "121.14.77.201"], 120),
            v6: .init(
                [
                    "2402:4e00:1020:1404:0:9227:71a3:83d2",
                    "2402:4e00:1020:1404:0:9227:71ab:2b74",
                ],
                120
            )
        ),
        ReplyCase(
            label: "iOS, name without dot",
            name: "api.example.com",
            families: .v4,
            body: "api.example.com:1.1.1.1;2.2.2.2,60|10.0.0.1",
            v4: .init(["1.1.1.1", "2.2.2.2"])
        ),
        ReplyCase(
            label: "iOS, name with dot",
            name: "api.example.com",
            families: .v4,
            body: "api.example.com.:3.3.3.3,30|10.0.0.2",
            v4: .init(["3.3.3.3"], 30)
        ),
        ReplyCase(
            label: "iOS, both without name",
            body: "1.1.1.1;2.2.2.2,60-2001:db8::1;2001:db8::2,120|10.0.0.1",
            v4: .init(["1.1.1.1", "2.2.2.2"], 60),
            v6: .init(["2001:db8::1", "2001:db8::2"], 120)
        ),
        ReplyCase(
            label: "iOS, AAAA without name",
            families: .v6,
            body: "2001:db8::1;2001:db8::2,120|2001:db8::ff",
            v6: .init(["2001:db8::1", "2001:db8::2"], 120)
        ),
        ReplyCase(
            label: "iOS, semicolon at the end",
            families: .v4,
            body: "1.1.1.1;2.2.2.2;,60",
            v4: .init(["1.1.1.1", "2.2.2.2"])
        ),
        ReplyCase(
            label: "iOS, no AAAA",
            body: "1.1.1.1,60-,0|10.0.0.1",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "iOS, no A",
            body: ",0-2001:db8::1,120|10.0.0.1",
            v4: ReplyCase.Expected.none,
            v6: .init(["2001:db8::1"], 120)
        ),
    ]

    static let lenient: [ReplyCase] = [
        ReplyCase(
            label: "a family of 0,0",
            body: "cloud.tencent.com.:1.1.1.1,60-0,0|10.0.0.1",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "an empty family as 0 with an ignored TTL",
            body: "cloud.tencent.com.:0,300-2001:db8::1,90",
            v4: ReplyCase.Expected.none,
            v6: .init(["2001:db8::1"], 90)
        ),
        ReplyCase(
            label: "an empty family without comma",
            body: "cloud.tencent.com.:1.1.1.1,60-",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "a separate TTL for each family",
            body: "cloud.tencent.com.:1.1.1.1,30-2001:db8::1,600|10.0.0.1",
            v4: .init(["1.1.1.1"], 30),
            v6: .init(["2001:db8::1"], 600)
        ),
        ReplyCase(
            label: "without hyphen the other family is unknown",
            body: "cloud.tencent.com.:1.1.1.1,60|10.0.0.1",
            v4: .init(["1.1.1.1"])
        ),
        ReplyCase(
            label: "a name with hyphens",
            name: "my-name-0-0.example.com",
            body: "my-name-0-0.example.com.:1.1.1.1,60-2001:db8::1,60",
            v4: .init(["1.1.1.1"]),
            v6: .init(["2001:db8::1"])
        ),
        ReplyCase(
            label: "the name in other case",
            body: "Cloud.TENCENT.com.:1.1.1.1,60-0",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "AAAA without name, starting with colons",
            families: .v6,
            body: "::1;2001:db8::5,60",
            v6: .init(["2001:db8::5"])
        ),
        ReplyCase(
            label: "both without name and TTL",
            body: "2.3.4.5-2402:4e00::1|1.2.3.4",
            v4: .init(["2.3.4.5"]),
            v6: .init(["2402:4e00::1"])
        ),
        ReplyCase(
            label: "only AAAA, without name",
            body: "0-2402:4e00::1,60|1.2.3.4",
            v4: ReplyCase.Expected.none,
            v6: .init(["2402:4e00::1"])
        ),
        ReplyCase(
            label: "line ends of any form at the end",
            body: "cloud.tencent.com.:1.1.1.1,60-0|10.0.0.1\r\n\n \r\n",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "an invalid client address",
            body: "cloud.tencent.com.:1.1.1.1,60-0|<script>",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
        ReplyCase(
            label: "the first of two records about one name",
            body: "cloud.tencent.com.:1.1.1.1,60-0\ncloud.tencent.com.:2.2.2.2,60-0",
            v4: .init(["1.1.1.1"]),
            v6: ReplyCase.Expected.none
        ),
    ]
}
