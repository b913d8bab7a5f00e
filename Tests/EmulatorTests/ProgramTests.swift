// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Program httpdns-emulator")
struct ProgramTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends the emulator with exit code 0`(_ signal: Int32) throws {
        let emulator = try RunningEmulator()
        emulator.send(signal)
        let end = try emulator.child.finish()
        #expect(end.code == 0)
        #expect(end.output.isEmpty)
        #expect(end.errors.isEmpty)
    }

    @Test func `the emulator listens on IPv6`() throws {
        let emulator = try RunningEmulator(listen: "[::1]:0")
        #expect(emulator.url.hasPrefix("http://[::1]:"))
        #expect(
            try emulator.ask("four.example.com", "&clientip=1", "--globoff").text
                == "192.0.2.4|::1"
        )
    }

    @Test(
        arguments: [
            (["--listen", "localhost:0"], "ADDR:PORT"),
            (["--fault", "explode"], "'explode' is not a fault"),
            (["--key-des", "short"], "5 octets, not 8"),
            (["--key-aes", "short"], "5 octets, not 16"),
            (["--id", "0"], "not a positive 32-bit"),
            (["--token", "secret"], "token"),
            (["--zone", "/nonexistent"], "/nonexistent"),
            (["--account", "/nonexistent"], "/nonexistent"),
            (["--set", "alibaba-aes=00"], "alibaba-aes: not 32 hexadecimal digits"),
            (["--set", "alibaba-id=me"], "alibaba-id: not a positive integer"),
            (["--set", "baidu-secret="], "baidu-secret: empty"),
            (["--set", "colour=red"], "unknown field 'colour'"),
            (["--set", "token"], "'token' is not FIELD=VALUE"),
            (["--ss-servers", "localhost"], "'localhost' is neither ADDR nor ADDR:PORT"),
            (["--ss-status", "perhaps"], "perhaps"),
            (["--json-question", "list"], "list"),
            (["--json-billing", "free"], "free"),
            (["--conf-servers", "::1"], "not an IPv4 address"),
            (["--conf-ttl", "0"], "1-1440"),
            (["--refusal", "1"], "not a status code"),
            (["--missing-family", "none"], "none"),
        ]
    )
    func `the error names the invalid option`(_ arguments: [String], _ part: String) throws {
        let end = try Child(RunningEmulator.program, arguments).finish()
        #expect(end.code == 64)
        #expect(end.output.isEmpty)
        #expect(end.errors.contains(part), "\(end.errors)")
    }

    @Test func `an address in use is an error`() throws {
        let emulator = try RunningEmulator()
        let address = String(emulator.url.dropFirst("http://".count))
        let end = try Child(RunningEmulator.program, ["--listen", address]).finish()
        #expect(end.code == 1)
        #expect(end.errors.contains("cannot listen on \(address)"))
    }

    @Test func `options override the account file`() throws {
        let file = try TemporaryFile("id = 7 # mine\ntoken = 42\nkey-des = abcdefgh\n")
        let emulator = try RunningEmulator("--account", file.path, "--token", "43")
        #expect(try emulator.get("/d?dn=www.qq.com&token=43&id=7").body.count > 0)
        #expect(try emulator.get("/d?dn=www.qq.com&token=42&id=7").status == 401)
        #expect(try emulator.get("/conf?id=7&alg=des").status == 200)
        let vendors = try TemporaryFile("alibaba-id = 8\nbaidu-id = 9\n")
        let other = try RunningEmulator("--account", vendors.path, "--set", "alibaba-id=10")
        #expect(try other.get("/8/ss").status == 403)
        #expect(try other.get("/10/ss").status == 200)
        var account = Account()
        #expect(throws: Account.Failure.self) { try account.apply(text: "key = 1") }
    }

    @Test func `help lists every fault and fits into 80 columns`() throws {
        let end = try Child(RunningEmulator.program, ["--help"]).finish()
        let help = String(decoding: end.output, as: UTF8.self)
        for kind in [
            "delay=MS", "silent", "reset", "close", "truncated", "noise", "garbage", "bad-padding",
            "wrong-key", "wrong-name", "status=CODE", "redirect=URL", "huge=OCTETS", "empty",
            "zero-address", "ttl=TEXT", "gzip", "/_emulator/calls", "/_emulator/bill", "SIGHUP",
            "error=CODE", "CNAME", "/v2/d", "/v4/resolve", "application/dns-json", "alibaba-v1",
        ] + Account.Field.allCases.map(\.rawValue) + Alibaba.Code.allCases.map(\.rawValue) {
            #expect(help.contains(kind), "\(kind)")
        }
        for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test func `one connection serves many calls; connections and calls are counted`() throws {
        let emulator = try RunningEmulator()
        let call = "\(emulator.url)/d?token=987654321&dn="
        let nothing = "\(emulator.url)/nowhere"
        let reply = try Curl([nothing, call + "www.qq.com", call + "Four.example.com,www.qq.com"])
        #expect(reply.exit == 0)
        _ = try emulator.get("/conf?token=987654321")
        let calls = try emulator.calls()
        #expect(calls.connections == 2)
        #expect(calls.lookups == 2)
        #expect(calls.paths == ["/d": 2, "/conf": 1])
        #expect(calls.names == ["www.qq.com": 2, "four.example.com": 1])
        #expect(calls.channels == ["tencent-token": 3])
        #expect(calls.last?.parameters == ["token": "987654321"])
        #expect(calls.last?.path == "/conf")

        #expect(try emulator.get("/_emulator/reset", "--request", "POST").status == 200)
        #expect(try emulator.calls().lookups == 0)
        #expect(try emulator.calls().zone.names > 0)
    }

    @Test func `requests can be pipelined (RFC 9112 §9.3.2)`() throws {
        let emulator = try RunningEmulator()
        let requests = try TemporaryFile(
            "GET /d?dn=four.example.com&token=987654321 HTTP/1.1\r\nHost: x\r\n\r\n"
                + "POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 34\r\n\r\n"
                + "dn=six.example.com&token=987654321"
                + "GET /nowhere HTTP/1.0\r\n\r\n"
        )
        let reply = try emulator.raw(requests)
        #expect(reply.ranges(of: "HTTP/1.1 200 OK").count == 2)
        #expect(reply.contains("192.0.2.4HTTP/1.1"))
        #expect(reply.contains("HTTP/1.1 404 Not Found"))
    }

    @Test(
        arguments: [
            ("nonsense\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/2\r\nHost: x\r\n\r\n", "505"),
            ("GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n", "400"),
            ("POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "411"),
            ("POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400"),
            ("POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n", "413"),
            ("GET /" + String(repeating: "a", count: 40_000) + " HTTP/1.1\r\n\r\n", "431"),
        ]
    )
    func `malformed HTTP is rejected`(_ request: String, _ status: String) throws {
        let emulator = try RunningEmulator()
        #expect(try emulator.raw(TemporaryFile(request)).hasPrefix("HTTP/1.1 \(status) "))
        #expect(try emulator.ask("four.example.com").text == "192.0.2.4")
    }
}
