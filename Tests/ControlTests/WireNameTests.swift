// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Control

@Suite("JSON names are as documented")
struct WireNameTests {
    func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONText.encode(value), as: UTF8.self)
    }

    @Test("Status has the documented names")
    func status() throws {
        let expected =
            #"{"acceleration":{"answers":56789,"entries":1200,"state":"resting","#
            + #""why":"an operator watches the queries"},"#
            + #""cache":{"entries":1,"limit-octets":67108864,"octets":12582912},"#
            + #""listeners":[{"address":"127.0.0.1:53","origin":"settings","transport":"udp"},"#
            + #"{"address":"127.0.0.1:53","origin":"settings","transport":"tcp"},"#
            + #"{"address":"[::1]:53","origin":"socket-activation","transport":"udp"}],"#
            + #""network":{"changes":2,"last-age-seconds":75,"resumes":1},"#
            + #""pid":4711,"problems":["vendor tencent: 1 of 2 servers does not answer"],"#
            + #""resolv-conf":{"nameservers":["127.0.0.1"],"points-here":true},"#
            + #""state":"degraded","upstreams":[{"calls":99,"failed":1,"failures":1,"#
            + #""last-error":"refused","last-error-age-seconds":4000,"latency-ms-p50":0.9,"#
            + #""latency-p50-us":900,"#
            + #""name":"isp","protected":false,"servers":[{"connections-opened":0,"#
            + #""connections-reused":0,"failed":1,"failures":1,"last-error":"refused","#
            + #""last-error-age-seconds":4000,"latency-ms":1.2,"latency-us":1200,"#
            + #""protected":false,"queries":99,"#
            + #""state":"up","successes":98,"transport":"udp","url":"udp://192.0.2.53"}],"#
            + #""state":"up","url":"udp://192.0.2.53","validates":false},"#
            + #"{"calls":1005,"failed":5,"failures":5,"latency-ms-p50":12,"#
            + #""latency-p50-us":12000,"name":"dot","protected":true,"#
            + #""servers":[{"connections-opened":2,"connections-reused":998,"failed":0,"#
            + #""failures":0,"#
            + #""latency-ms":11.5,"latency-us":11500,"protected":true,"queries":1000,"state":"up","#
            + #""successes":1000,"transport":"tls","url":"tls://dns.example (192.0.2.1)"},"#
            + #"{"connections-opened":2,"connections-reused":0,"failed":4,"failures":4,"#
            + #""for-seconds":7,"#
            + #""last-error":"timed out","last-error-age-seconds":1,"protected":true,"#
            + #""queries":4,"reason":"timed out","state":"rests","successes":0,"#
            + #""transport":"tls","url":"tls://dns.example (192.0.2.2)"},"#
            + #"{"connections-opened":2,"connections-reused":0,"failed":1,"failures":1,"#
            + #""for-seconds":0,"#
            + #""last-error":"timed out","last-error-age-seconds":1,"protected":true,"#
            + #""queries":1,"reason":"leads back to this server","state":"loops","#
            + #""successes":0,"transport":"tls","url":"tls://dns.example (192.0.2.3)"}],"#
            + #""state":"degraded","url":"tls://dns.example","validates":true}],"#
            + #""uptime-seconds":275460,"vendors":[{"billable-calls":12000,"#
            + #""budget":{"beyond":0,"calls-per-day":20000,"day-ends-seconds":11100,"#
            + #""spent-today":12000,"state":"within"},"calls":12345,"#
            + #""channel":"https","client-address":"203.0.113.9","#
            + #""client-subnet":"203.0.113.7","clock-skew-seconds":-75,"connections-opened":12,"#
            + #""connections-reused":11988,"kind":"tencent","name":"tencent","#
            + #""protected":true,"refresh":{"count":3,"error":"timeout","failures":1,"last-age-seconds":200},"#
            + #""servers":[{"address":"192.0.2.1","calls":12000,"current":true,"failed":0,"#
            + #""failures":0,"#
            + #""latency-ms-p50":18.25,"latency-p50-us":18250,"state":"up"},"#
            + #"{"address":"192.0.2.2","calls":345,"#
            + #""current":false,"failed":345,"failures":345,"last-error":"timeout","#
            + #""last-error-age-seconds":130,"state":"down"}],"state":"degraded"},"#
            + #"{"billable-calls":0,"calls":0,"channel":"gcm","connections-opened":0,"#
            + #""connections-reused":0,"kind":"alibaba","name":"alibaba","#
            + #""protected":true,"rest":{"by":"operator"},"servers":[],"state":"paused"}],"#
            + #""version":"0.1.0"}"#
        #expect(try text(Samples.status) == expected)
        #expect(try JSONText.decode(StatusReply.self, from: Array(expected.utf8)) == Samples.status)
    }

    @Test("the cache snapshot in Status and Stats has the documented names")
    func snapshot() throws {
        let expected =
            #"{"age-seconds":200,"entries":1234,"#
            + #""last-error":"/var/lib/httpdnsd/cache.snapshot.tmp: write: No space left on device","#
            + #""octets":102400,"path":"/var/lib/httpdnsd/cache.snapshot"}"#
        #expect(try text(Samples.snapshot) == expected)
        var usage = CacheUsage()
        usage.snapshot = Samples.snapshot
        #expect(
            try text(usage)
                == #"{"entries":0,"limit-octets":0,"octets":0,"snapshot":\#(expected)}"#
        )
        var stats = CacheStats()
        stats.snapshot = Samples.snapshot
        #expect(try text(stats).hasSuffix(#""snapshot":\#(expected)}"#))
    }

    @Test("Stats has the documented names")
    func stats() throws {
        let none = #"{"count":0,"max-us":0,"p50-us":0,"p90-us":0,"p99-us":0,"p999-us":0}"#
        let expected =
            #"{"cache":{"entries":55,"evictions":2,"expired":13,"hits":900,"index-octets":2048,"#
            + #""insertions":70,"limit-octets":67108864,"misses":100,"negative-entries":5,"#
            + #""octets":10240},"latency":{"cache":\#(none),"client":{"count":1000,"#
            + #""max-us":1250000,"p50-us":90,"p90-us":400,"p99-us":25000,"p999-us":80000},"#
            + #""upstream":\#(none),"vendor":\#(none)},"#
            + #""log":{"dropped":5},"#
            + #""misses":{"dropped":0,"in-flight":3,"merged":7},"#
            + #""network":{"changes":2,"resumes":0},"#
            + #""packets":{"ignored":2,"received":1002,"truncated-replies":1},"#
            + #""process":{"cpu-seconds":1.25,"descriptors":24,"rss-octets":20971520,"#
            + #""threads":4},"queries":{"by-rcode":{"noerror":950,"nxdomain":50},"#
            + #""by-source":{"cache":900,"upstream":40,"vendor":60},"#
            + #""by-transport":{"tcp":1,"udp":999},"early-fallback":0,"total":1000},"#
            + #""refresh":{"done":11,"failed":1,"held":3,"over-budget":4,"started":12},"#
            + #""since-seconds":60,"#
            + #""upstreams":[{"connections-opened":3,"connections-reused":4,"#
            + #""failed":1,"failures":{"timeout":1},"failures-by-kind":{"timeout":1},"#
            + #""foreign-replies":2,"name":"isp","protected":false,"#
            + #""queries":42,"successes":41,"tcp-retries":1}],"#
            + #""vendors":[{"avoided":{"batched":0,"cached":890,"merged":7,"paired":30},"#
            + #""billable-calls":58,"billable-names":60,"budget":{"beyond":4,"#
            + #""calls-per-day":1000,"day-ends-seconds":3600,"spent-today":1000,"#
            + #""state":"spent"},"calls":61,"client-address":"203.0.113.9","connections-opened":4,"connections-reused":57,"#
            + #""cost":{"amount":0.18,"currency":"CNY"},"dropped":{},"empty":3,"failed":3,"failures":{"http":1,"timeout":2,"tls":0},"#
            + #""failures-by-kind":{"http":1,"timeout":2,"tls":0},"lookups":97,"#
            + #""name":"tencent","protected":true,"routes":[{"domain":"example.com","names":45,"#
            + #""route":"httpdnsd.yaml:12"},{"domain":"=www.example.org","names":15,"#
            + #""route":"httpdnsd.yaml:16"}],"successes":92,"unanswered":2,"#
            + #""units":{"at-least":290,"at-most":300,"month":45000,"today":1200}}]}"#
        #expect(try text(Samples.stats) == expected)
        #expect(try JSONText.decode(StatsReply.self, from: Array(expected.utf8)) == Samples.stats)
    }

    @Test("Top, Pause and Resume have the documented names")
    func cost() throws {
        #expect(
            try text(Samples.top)
                == #"{"entries":[{"calls":1500,"domain":"example.com","excess":0,"#
                + #""name":"www.example.com.","route":"httpdnsd.yaml:12","units":7500,"#
                + #""vendor":"tencent"},"#
                + #"{"calls":12,"domain":"","excess":2,"name":"a.example.org.","#
                + #""route":"httpdnsd.yaml:16","vendor":"alibaba"}],"kind":"cost","#
                + #""since-seconds":3600,"total":2000}"#
        )
        #expect(
            try text(Samples.paused)
                == #"{"changed":true,"in-flight":2,"rest":{"by":"operator"},"vendor":"tencent"}"#
        )
        #expect(
            try text(Samples.resumed)
                == #"{"changed":true,"in-flight":0,"rest":{"by":"account","#
                + #""error":"HTTP 401","for-seconds":250},"vendor":"tencent"}"#
        )
        #expect(try text(TopRequest(kind: "cost")) == #"{"kind":"cost"}"#)
        #expect(try text(TopRequest(kind: "cost", count: 3)) == #"{"count":3,"kind":"cost"}"#)
        #expect(try text(PauseRequest(vendor: "a")) == #"{"vendor":"a"}"#)
        #expect(try text(PauseRequest(upstream: "a")) == #"{"upstream":"a"}"#)
        #expect(try text(PauseRequest(name: "a")) == #"{"name":"a"}"#)
        #expect(
            try text(PauseReply(upstream: "isp", changed: true, isPaused: true))
                == #"{"changed":true,"in-flight":0,"rest":{"by":"operator"},"upstream":"isp"}"#
        )
        var warned = Samples.paused
        warned.problems = ["route"]
        #expect(
            try text(warned)
                == #"{"changed":true,"in-flight":2,"problems":["route"],"#
                + #""rest":{"by":"operator"},"vendor":"tencent"}"#
        )
    }

    @Test("Explain, Resolve and Dump have the documented names")
    func questions() throws {
        let answer =
            #"{"name":"www.example.com.","origin":"tencent","origin-server":"192.0.2.1:443","#
            + #""rcode":"noerror","records":["192.0.2.10","192.0.2.11"],"#
            + #""server":"tencent/192.0.2.1:443","source":"vendor","took-us":18200,"#
            + #""ttl-seconds":60,"type":"A"}"#
        #expect(
            try text(Samples.explained)
                == #"{"cost":{"billable-calls":1,"money":{"amount":0.00015,"currency":"CNY"},"#
                + #""next-billable-calls":0,"units":5,"vendor":"tencent"},"#
                + #""live":{"answer":\#(answer),"attempts":[{"after-ms":0.25,"after-us":250,"#
                + #""connected-ms":4.5,"connected-us":4500,"#
                + #""first-octet-ms":17.5,"first-octet-us":17500,"name":"tencent","#
                + #""request":"GET https://192.0.2.1/d?dn=…&token=…","#
                + #""result":"www.example.com. A 192.0.2.10 (60 s)","reused":false,"#
                + #""secured-ms":9,"secured-us":9000,"server":"192.0.2.1:443","status":200,"#
                + #""took-ms":18,"took-us":18000,"#
                + #""why":"first"},{"after-ms":12,"after-us":12000,"name":"tencent","#
                + #""result":"under way","#
                + #""server":"192.0.2.2:443","why":"hedge"}],"billable-calls":2,"left-out":3,"#
                + #""money":{"amount":0.0003,"currency":"CNY"},"#
                + #""notes":["cached www.example.com. A for 60 s"],"units":10},"#
                + #""name":"www.example.com.","route":{"fallback":"upstream","#
                + #""pattern":"*.example.com","place":"httpdnsd.yaml:12","silent":[],"#
                + #""upstreams":[],"#
                + #""vendors":["tencent"]},"steps":[{"notes":[],"result":"www.example.com. IN A","#
                + #""stage":"question"},{"notes":[],"result":"miss","stage":"cache"},"#
                + #"{"notes":["tencent: 192.0.2.1:443 first"],"result":"asked in this order","#
                + #""stage":"vendors"}],"type":"A"}"#
        )
        let foretold = try text(Samples.foretold)
        #expect(foretold.hasPrefix(#"{"answer":{"name":"www.example.com.","#))
        #expect(
            foretold.contains(
                #""cost":{"answer-money":{"amount":1.5e-05,"currency":"CNY"},"#
                    + #""answer-units":5,"billable-calls":0,"next-billable-calls":1,"#
                    + #""next-by":"refresh","next-money":{"amount":3e-05,"currency":"CNY"},"#
                    + #""next-seconds":45,"next-units":10,"units":0,"#
            )
        )
        #expect(!foretold.contains("live") && !foretold.contains("took-us"))
        #expect(
            try text(Samples.resolved)
                == #"{"results":[\#(answer),"#
                + #"{"explanation":"Network Error: no upstream could be reached","#
                + #""name":"www.example.com.","rcode":"servfail","records":[],"#
                + #""source":"failed","took-us":18250,"type":"AAAA"}]}"#
        )
        #expect(try text(Samples.dump).hasSuffix(#","total":2}"#))
        #expect(try text(ExplainRequest(name: "a")) == #"{"name":"a"}"#)
        #expect(
            try text(ExplainRequest(name: "a", type: "MX", live: true))
                == #"{"live":true,"name":"a","type":"MX"}"#
        )
        #expect(try text(ResolveRequest(names: ["a"])) == #"{"names":["a"]}"#)
        #expect(try text(ResolveRequest(names: ["a"], type: "A")) == #"{"names":["a"],"type":"A"}"#)
    }

    @Test("Reload and Check have the documented names")
    func reloads() throws {
        #expect(
            try text(Samples.reloaded)
                == #"{"applied":true,"changes":[{"kind":"changed","new":"2d","old":"1d","#
                + #""path":"cache.maximum-ttl"},{"kind":"added","new":"127.0.0.2:53","#
                + #""path":"listen"},{"kind":"removed","old":"{url: udp://192.0.2.1}","#
                + #""path":"upstreams.isp"},{"kind":"secret","path":"vendors.tencent.token"},"#
                + #"{"kind":"changed","new":"4","old":"auto","path":"workers"}],"#
                + #""needs-restart":["workers"],"problems":[],"removed-answers":3,"#
                + #""warnings":[{"column":3,"file":"httpdnsd.yaml","line":9,"message":"odd"}]}"#
        )
        #expect(
            try text(Samples.rejected)
                == #"{"applied":false,"changes":[],"needs-restart":[],"problems":[{"column":1,"#
                + #""file":"httpdnsd.yaml","hint":"did you mean `cache`?","line":1,"#
                + #""message":"unknown key `cahce`"},{"column":0,"file":"httpdnsd.yaml","line":0,"#
                + #""message":"cannot listen"}],"removed-answers":0,"warnings":[]}"#
        )
        var reply = Samples.rejected
        reply.problems[0].describesSecret = true
        reply.unlistedChanges = 1
        #expect(try text(reply) == text(Samples.rejected), "fields that are not sent")
        #expect(try text(CheckRequest()) == "{}")
        #expect(try text(CheckRequest(text: "a", file: "b")) == #"{"file":"b","text":"a"}"#)
    }

    @Test("Lookup, Flush and Version have the documented names")
    func others() throws {
        #expect(
            try text(Samples.lookup)
                == #"{"entries":[{"age-seconds":42,"hits":1234,"name":"www.example.com.","#
                + #""origin":"tencent","origin-server":"192.0.2.1:443","#
                + #""rcode":"noerror","records":["192.0.2.10","192.0.2.11"],"#
                + #""server":"192.0.2.1:443","source":"tencent","stale":false,"ttl-seconds":18,"#
                + #""type":"A","validated":false,"variant":""},{"age-seconds":400,"hits":0,"#
                + #""name":"www.example.com.","origin":"isp","origin-server":"udp://192.0.2.53","#
                + #""protected":false,"rcode":"nodata","records":[],"#
                + #""server":"udp://192.0.2.53","source":"isp","stale":true,"ttl-seconds":0,"#
                + #""type":"TXT","validated":true,"variant":"do"}]}"#
        )
        #expect(try text(FlushReply(removed: 3)) == #"{"removed":3}"#)
        #expect(try text(FlushReply(removed: 0, marked: 3)) == #"{"marked":3,"removed":0}"#)
        #expect(
            try text(Samples.version)
                == #"{"libcurl":"7.88.1","libyaml":"0.2.5","openssl":"3.0.16","swift":"6.3.1","#
                + #""version":"0.1.0"}"#
        )
        #expect(try text(FlushRequest(.name("a", type: "A"))) == #"{"name":"a","type":"A"}"#)
        #expect(try text(FlushRequest(.tree("a"))) == #"{"tree":"a"}"#)
        #expect(try text(FlushRequest(.negative)) == #"{"negative":true}"#)
        #expect(try text(FlushRequest(.stale)) == #"{"stale":true}"#)
        #expect(try text(FlushRequest(.source("a"), soft: true)) == #"{"soft":true,"source":"a"}"#)
        #expect(try text(LookupRequest(name: "a")) == #"{"name":"a"}"#)
        #expect(try text(StatsRequest()) == "{}")
    }
}
