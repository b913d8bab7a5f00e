// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite(
    "Varlink clients that know only the published interface",
    .needs(.python3, .dig, .nsd, .curl),
    .hangLimit
)
struct VarlinkTests {
    private static let program = #"""
        import json, re, socket, sys
        known = {"interface": "io.httpdnsd.Control", "name": "www.example.com", "negative": True,
                 "names": ["www.example.com", "four.example.com"], "vendor": "tencent", "kind": "cost",
                 "off": True}
        samples = {"string": "www.example.com", "int": 1, "float": 1.0, "bool": False, "object": {}}
        def call(method, parameters):
            peer, reply = socket.socket(socket.AF_UNIX), b""
            peer.connect(sys.argv[1])
            call = {"method": method, "parameters": parameters, "more": True}
            peer.sendall(json.dumps(call).encode() + b"\0")
            while b"\0" not in reply:
                octets = peer.recv(1 << 16)
                assert octets, method + ": the daemon hung up"
                reply += octets
            reply = json.loads(reply.split(b"\0")[0])
            assert "error" not in reply, (method, parameters, reply)
            return reply["parameters"]
        def sample(name, isList, kind):
            value = known.get(name, samples.get(kind, kind.strip("()").split(",")[0]))
            return [value] if isList and name not in known else value
        member = re.compile(r"method (\w+)\((.*?)\) -> \((.*?)\)\s*(?=\n\s*\n|\Z)", re.S)
        field = re.compile(r"(\w+): (\??)((?:\[\])?)(\w+|\([^)]*\))")
        for interface in call("org.varlink.service.GetInfo", {})["interfaces"]:
            text = call("org.varlink.service.GetInterfaceDescription", {"interface": interface})
            text = re.sub(r"#.*", "", text["description"])
            methods = member.findall(text)
            assert len(methods) == len(re.findall(r"\bmethod ", text)) > 0, interface
            for method, takes, gives in methods:
                parameters = {name: sample(name, isList, kind) for name, optional, isList, kind
                              in field.findall(takes) if not optional or name in known}
                if "name" in parameters and {"negative", "vendor"} & set(parameters):
                    del parameters["name"]
                reply = call(interface + "." + method, parameters)
                for name, optional, _, _ in field.findall(gives):
                    assert optional or name in reply, (method, name, reply)
                print(interface + "." + method)
        """#

    @Test("a client can call every method, and the reply has every declared result")
    func everyMethod() throws {
        let harness = try ProgramHarness()
        _ = try harness.daemon.dig("www.example.com", "A")
        let client = try Child("python3", ["-c", Self.program, harness.daemon.socket])
        let end = try client.end(within: 60)
        #expect(end.status == 0, "\(end.errors)\(harness.daemon.program.errorText)")
        let methods = end.output.split(separator: "\n").map(String.init)
        let verbs = [
            "Status", "Stats", "Flush", "Lookup", "Top", "Bill", "Watch", "Pause", "Resume",
            "Reload", "Check", "Settings", "Routes", "LogLevel", "Portal", "Version",
        ]
        #expect(Set(methods).isSuperset(of: verbs.map { "io.httpdnsd.Control.\($0)" }))
        #expect(Set(methods).isSuperset(of: ["org.varlink.service.GetInfo"]))
        #expect(Set(methods).count == methods.count)
        #expect(
            try JSON(harness.daemon.control("status", "--json").output)["state"].string == "ready"
        )
        try harness.daemon.stop()
    }
}
