// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Control

@Suite("JSON names are as documented")
struct WireNameTests {
    /// The text of a value on the wire.
    func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONText.encode(value), as: UTF8.self)
    }

    @Test("Status")
    func status() throws {
        let expected =
            #"{"cache":{"entries":1,"limit-octets":67108864,"octets":12582912},"#
            + #""listeners":[{"address":"127.0.0.1:53","origin":"settings","transport":"udp"},"#
            + #"{"address":"127.0.0.1:53","origin":"settings","transport":"tcp"},"#
            + #"{"address":"[::1]:53","origin":"socket-activation","transport":"udp"}],"#
            + #""pid":4711,"problems":["vendor tencent: 1 of 2 servers does not answer"],"#
            + #""resolv-conf":{"nameservers":["127.0.0.1"],"points-here":true},"#
            + #""state":"degraded","upstreams":[{"calls":99,"failures":1,"#
            + #""last-error":"refused","last-error-age-seconds":4000,"latency-ms-p50":0.9,"#
            + #""name":"isp","protected":false,"state":"up","url":"udp://192.0.2.53"}],"#
            + #""uptime-seconds":275460,"vendors":[{"billable-calls":12000,"calls":12345,"#
            + #""channel":"https","clock-skew-seconds":-75,"kind":"tencent","name":"tencent","#
            + #""servers":[{"address":"192.0.2.1","calls":12000,"current":true,"failures":0,"#
            + #""latency-ms-p50":18.25,"state":"up"},{"address":"192.0.2.2","calls":345,"#
            + #""current":false,"failures":345,"last-error":"timeout","#
            + #""last-error-age-seconds":130,"state":"down"}],"state":"degraded"}],"#
            + #""version":"0.1.0"}"#
        #expect(try text(Samples.status) == expected)
        #expect(
            try JSONText.decode(StatusReply.self, from: Array(expected.utf8)) == Samples.status
        )
    }

    @Test("Stats")
    func stats() throws {
        let none = #"{"count":0,"max-us":0,"p50-us":0,"p90-us":0,"p99-us":0,"p999-us":0}"#
        let expected =
            #"{"cache":{"entries":55,"evictions":2,"expired":13,"hits":900,"index-octets":2048,"#
            + #""insertions":70,"limit-octets":67108864,"misses":100,"negative-entries":5,"#
            + #""octets":10240},"latency":{"cache":\#(none),"client":{"count":1000,"#
            + #""max-us":1250000,"p50-us":90,"p90-us":400,"p99-us":25000,"p999-us":80000},"#
            + #""upstream":\#(none),"vendor":\#(none)},"#
            + #""misses":{"dropped":0,"in-flight":3,"merged":7},"#
            + #""packets":{"ignored":2,"received":1002,"truncated-replies":1},"#
            + #""process":{"cpu-seconds":1.25,"descriptors":24,"rss-octets":20971520,"#
            + #""threads":4},"queries":{"by-rcode":{"noerror":950,"nxdomain":50},"#
            + #""by-source":{"cache":900,"upstream":40,"vendor":60},"#
            + #""by-transport":{"tcp":1,"udp":999},"total":1000},"since-seconds":60,"#
            + #""upstreams":[{"failures":{"timeout":1},"name":"isp","protected":false,"#
            + #""queries":42,"successes":41,"tcp-retries":1}],"#
            + #""vendors":[{"avoided":{"cache":900,"merged":7,"paired":30},"#
            + #""billable-calls":58,"calls":61,"connections-opened":4,"connections-reused":57,"#
            + #""empty":3,"failures":{"http":1,"timeout":2,"tls":0},"name":"tencent","#
            + #""successes":55}]}"#
        #expect(try text(Samples.stats) == expected)
        #expect(try JSONText.decode(StatsReply.self, from: Array(expected.utf8)) == Samples.stats)
    }

    @Test("Lookup, Flush and Version")
    func others() throws {
        #expect(
            try text(Samples.lookup)
                == #"{"entries":[{"age-seconds":42,"hits":1234,"name":"www.example.com.","#
                + #""rcode":"noerror","records":["192.0.2.10","192.0.2.11"],"#
                + #""server":"192.0.2.1:443","source":"tencent","stale":false,"ttl-seconds":18,"#
                + #""type":"A","variant":""},{"age-seconds":400,"hits":0,"#
                + #""name":"www.example.com.","rcode":"nodata","records":[],"server":"","#
                + #""source":"isp","stale":true,"ttl-seconds":0,"type":"TXT","variant":"do"}]}"#
        )
        #expect(try text(FlushReply(removed: 3)) == #"{"removed":3}"#)
        #expect(
            try text(Samples.version)
                == #"{"libcurl":"7.88.1","libyaml":"0.2.5","openssl":"3.0.16","swift":"6.3.1","#
                + #""version":"0.1.0"}"#
        )
        #expect(try text(FlushRequest(.name("a", type: "A"))) == #"{"name":"a","type":"A"}"#)
        #expect(try text(FlushRequest(.tree("a"))) == #"{"tree":"a"}"#)
        #expect(try text(FlushRequest(.negative)) == #"{"negative":true}"#)
        #expect(try text(LookupRequest(name: "a")) == #"{"name":"a"}"#)
        #expect(try text(StatsRequest()) == "{}")
    }
}
