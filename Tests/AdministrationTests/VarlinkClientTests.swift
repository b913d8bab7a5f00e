// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Control
@testable import Net

@Suite("Varlink clients without code of this project", .timeLimit(.minutes(15)))
struct VarlinkClientTests {
    static let script = """
        import json, socket, sys
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(sys.argv[1])
        stream = peer.makefile("rb")
        def call(method, **parameters):
            message = json.dumps({"method": method, "parameters": parameters})
            peer.sendall(message.encode() + b"\\0")
            octets = b""
            while not octets.endswith(b"\\0"):
                octet = stream.read(1)
                assert octet, "the daemon hung up"
                octets += octet
            reply = json.loads(octets[:-1])
            return reply.get("error") or reply["parameters"]
        info = call("org.varlink.service.GetInfo")
        assert sorted(info) == ["interfaces", "product", "url", "vendor", "version"], info
        for name in info["interfaces"]:
            text = call("org.varlink.service.GetInterfaceDescription", interface=name)
            assert "\\ninterface " + name + "\\n" in text["description"], text
        control = "io.httpdnsd.Control."
        assert call(control + "Status")["resolv-conf"]["points-here"] is True
        queries = call(control + "Stats")["queries"]
        for table in ("by-source", "by-rcode", "by-transport"):
            assert sum(queries[table].values()) == queries["total"], table
        assert call(control + "Flush", tree="example.com") == {"removed": 4}
        assert call(control + "Lookup", name="www.example.com")["entries"][0]["ttl-seconds"] == 18
        assert call(control + "Lookup", name="b.example.com") == control + "NotFound"
        cost = call(control + "Explain", name="www.example.com")["cost"]
        assert cost["next-billable-calls"] == 1, cost
        results = call(control + "Resolve", names=["www.example.com"])["results"]
        assert [result["rcode"] for result in results] == ["noerror", "servfail"], results
        assert call(control + "Dump") == "org.varlink.service.ExpectedMore"
        assert call(control + "Version")["openssl"] == "3.0.16"
        assert call(control + "Nothing") == "org.varlink.service.MethodNotFound"
        print("ok")
        """

    @Test("a Python program of twenty lines can call the methods")
    func python() async throws {
        let live = try await LiveServer.start()
        let program = try await run("/usr/bin/env", ["python3", "-c", Self.script, live.path])
        #expect(program.errors == "")
        #expect(program.output == "ok\n")
        #expect(program.status == 0)
        await live.stop()
    }
}
