// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Control

@Suite("Calls and replies")
struct CallTests {
    func call(_ text: String) throws -> Call { try Call(message: Array(text.utf8)) }

    @Test("a call is parsed with its flags; unknown fields are ignored")
    func reading() throws {
        let read = try call(
            #"{"method":"a.b.C","parameters":{"n":1},"more":true,"oneway":true,"x":[]}"#
        )
        #expect(read == Call("a.b.C", parameters: ["n": .integer(1)], more: true, oneway: true))
        #expect(read.interface == "a.b")
        #expect(try call(#"{"method":"C","parameters":null}"#) == Call("C"))
        #expect(Call("C").interface == "")
    }

    @Test(
        "a message that is no call is malformed",
        arguments: [
            "", " ", "{", "[]", "null", "1", #""method""#, "{}", #"{"method":1}"#,
            #"{"method":"a","parameters":[]}"#, #"{"method":"a","more":"yes"}"#,
            #"{"method":"a"} {"method":"b"}"#, "\u{FEFF}\u{FEFF}{}", "GET / HTTP/1.1\r\n",
        ]
    )
    func malformed(_ text: String) { expectMalformed(text) }

    @Test("deeply nested JSON is malformed", arguments: [("[", 60_000), (#"{"a":"#, 10_000)])
    func nested(_ opening: String, _ depth: Int) {
        expectMalformed(String(repeating: opening, count: depth))
    }

    @Test("a call has at most 5 levels and 1,100 values; a reply has at most 16 levels")
    func limits() throws {
        func text(_ value: String) -> String { #"{"method":"a","parameters":{"x":\#(value)}}"# }
        func nested(_ levels: Int, _ start: String = "[", _ end: String = "]") -> String {
            String(repeating: start, count: levels) + "1" + String(repeating: end, count: levels)
        }
        _ = try call(text(nested(3)))
        expectMalformed(text(nested(4)))
        expectMalformed(text(nested(4, #"{"x":"#, "}")))
        _ = try Reply(message: Array(#"{"parameters":{"x":\#(nested(14))}}"#.utf8))
        #expect(throws: ProtocolError.malformed(reason: "nested deeper than 16 levels")) {
            try Reply(message: Array(#"{"parameters":{"x":\#(nested(15))}}"#.utf8))
        }

        func list(_ count: Int) -> String { "[1" + String(repeating: ",1", count: count - 1) + "]" }
        _ = try call(text(list(1096)))
        expectMalformed(text(list(1097)))
        _ = try Reply(message: Array(#"{"parameters":\#(list(5000))}"#.utf8))

        let brackets = String(repeating: #"[{,\"\\"#, count: 5000)
        let read = try call(text("\"\(brackets)\""))
        #expect(read.parameters["x"]?.text?.utf8.count == 25_000)
    }

    private func expectMalformed(_ text: String) {
        #expect {
            try call(text)
        } throws: { error in
            guard case ProtocolError.malformed = error else { return false }
            return true
        }
    }

    @Test("the parser rejects octets that are not UTF-8")
    func notUTF8() {
        let truncated: [UInt8] = Array(#"{"method":"a"#.utf8) + [0xC3] + Array("\"}".utf8)
        #expect(throws: ProtocolError.notUTF8) { try Call(message: truncated) }
        let wide = "\u{FEFF}{\"method\":\"a\"}".utf16.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(throws: ProtocolError.notUTF8) { try Call(message: Array(wide.joined())) }
    }

    @Test("the parser accepts random octets as a call, or throws a `ProtocolError`")
    func garbage() {
        var dice = Dice(state: 88_172_645_463_325_252)
        let seed = Array(#"{"method":"io.httpdnsd.Control.Flush","parameters":{"all":true}}"#.utf8)
        for _ in 0..<2000 {
            var octets = seed
            for _ in 0..<Int.random(in: 1...6, using: &dice) {
                let position = Int.random(in: 0..<octets.count, using: &dice)
                octets[position] = UInt8.random(in: 1...255, using: &dice)
            }
            if let read = try? Call(message: octets) {
                _ = try? read.arguments(as: FlushRequest.self)
            }
        }
    }

    @Test("a message is one JSON object with sorted keys, followed by a NUL")
    func writing() throws {
        let call = try Call("a.B", arguments: LookupRequest(name: "a\0/b", type: nil))
        let expected = #"{"method":"a.B","parameters":{"name":"a\u0000/b"}}"#
        #expect(try call.message() == Array(expected.utf8) + [0])
        #expect(try Call(message: try call.message().dropLast()) == call)
    }

    @Test(
        "the error has the name of a parameter that is unknown, missing or of the wrong type",
        arguments: [
            (#"{"name":"a","colour":1}"#, "colour"), (#"{}"#, "name"), (#"{"name":1}"#, "name"),
            (#"{"name":"a","type":[]}"#, "type"), (#"{"name":null}"#, "name"),
        ]
    )
    func wrongParameter(_ parameters: String, _ name: String) throws {
        let call = try call(#"{"method":"a.B","parameters":\#(parameters)}"#)
        #expect(throws: MethodError.invalidParameter(name)) {
            try call.arguments(as: LookupRequest.self)
        }
    }

    @Test("a method without parameters rejects any parameter")
    func noParameters() throws {
        #expect(try Call("a.B").arguments(as: NoParameters.self) == NoParameters())
        #expect(throws: MethodError.invalidParameter("x")) {
            try Call("a.B", parameters: ["x": .null]).arguments(as: NoParameters.self)
        }
    }

    @Test("a method error stays the same after encoding and decoding")
    func errors() throws {
        let errors: [MethodError] = [
            .notFound(what: "a"), .invalidArgument(argument: "a", reason: "b"),
            .denied(reason: "a"), .failed(reason: "a"), .interfaceNotFound("a"),
            .methodNotFound("a"), .methodNotImplemented("a"), .invalidParameter("a"),
            .expectedMore, .unknown(name: "x.Y", parameters: .object(["n": .integer(1)])),
        ]
        for error in errors {
            let reply = try Reply(message: try Reply(error).message().dropLast())
            #expect(throws: error) { try reply.results(as: FlushReply.self) }
        }
    }

    @Test("the client keeps unknown fields of results as JSON")
    func results() throws {
        let text = #"{"parameters":{"removed":3,"new":[1.5,true,null,18446744073709551615]}}"#
        let reply = try Reply(message: Array(text.utf8))
        #expect(try reply.results(as: FlushReply.self) == FlushReply(removed: 3))
        #expect(
            reply.parameters["new"]
                == .array([.number(1.5), .bool(true), .null, .unsigned(.max)])
        )
        #expect(
            try Reply.message(results: FlushReply(removed: 3))
                == Array(#"{"parameters":{"removed":3}}"#.utf8) + [0]
        )
    }

    @Test("a result of the wrong JSON type is malformed")
    func wrongResults() throws {
        let reply = try Reply(message: Array(#"{"parameters":{"removed":"3"}}"#.utf8))
        #expect(throws: ProtocolError.malformed(reason: "\"removed\" has the wrong type")) {
            try reply.results(as: FlushReply.self)
        }
        #expect(throws: ProtocolError.malformed(reason: "\"removed\" is missing")) {
            try Reply().results(as: FlushReply.self)
        }
    }

    @Test("a flush request without a scope, or with two scopes, is rejected")
    func scope() throws {
        let scopes: [FlushRequest.Scope] = [
            .all, .name("a", type: nil), .name("a", type: "A"), .tree("a"), .negative,
            .stale, .source("a"),
        ]
        for scope in scopes { #expect(try FlushRequest(scope).scope() == scope) }
        for text in [
            "{}", #"{"all":false}"#, #"{"all":true,"negative":true}"#, #"{"type":"A"}"#,
            #"{"name":"a","tree":"b"}"#, #"{"stale":true,"source":"a"}"#, #"{"soft":true}"#,
            #"{"all":true,"type":"A"}"#,
        ] {
            let request = try JSONText.decode(FlushRequest.self, from: Array(text.utf8))
            #expect {
                try request.scope()
            } throws: { error in
                guard case MethodError.invalidArgument = error else { return false }
                return true
            }
        }
    }

    @Test("`Top` rejects an unknown list, and a count outside 1 to 1024")
    func topSelection() throws {
        let standard = try TopRequest(kind: "cost").selection()
        #expect(standard == (.cost, 10))
        #expect(try TopRequest(kind: "cost", count: 1024).selection().count == 1024)
        #expect(
            throws: MethodError.invalidArgument(
                argument: "kind",
                reason:
                    "no such list; use one of: names, misses, slow, fallback, clients, cost"
            )
        ) { try TopRequest(kind: "quick").selection() }
        for count in [-1, 0, 1025] {
            #expect(
                throws: MethodError.invalidArgument(argument: "count", reason: "must be 1 to 1024")
            ) { try TopRequest(kind: "cost", count: count).selection() }
        }
    }
}
