// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPDNS

private indirect enum Tree: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case otherNumber
    case string(String)
    case array([Tree])
    case object([String: Tree])

    init(_ value: JSONValue) {
        if let number = value.number {
            self = .integer(number)
        } else if let text = value.text {
            self = .string(text)
        } else if let elements = value.elements {
            self = .array(elements.map(Tree.init))
        } else if let members = value.members {
            self = .object(
                Dictionary(uniqueKeysWithValues: members.map { ($0.key, Tree($0.value)) })
            )
            for (key, member) in members {
                #expect(value[key].map(Tree.init) == (member.isNull ? nil : Tree(member)))
            }
        } else {
            self = value.isNull ? .null : value.isBool ? .bool(value.isTrue) : .otherNumber
        }
    }
}

@Suite("JSON, RFC 8259")
struct JSONReaderTests {
    private func read(_ text: String) throws -> Tree {
        Tree(try JSONReader.read([UInt8](text.utf8)))
    }

    @Test(
        "values of every type are parsed",
        arguments: [
            ("null", .null), (" true\n", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
            ("-0", .integer(0)), ("-12", .integer(-12)),
            ("9223372036854775807", .integer(.max)), ("9223372036854775808", .otherNumber),
            ("1.0", .otherNumber), ("1e3", .otherNumber), ("-0.5E-7", .otherNumber),
            ("\"\"", .string("")), ("[]", .array([])), ("{ }", .object([:])),
            (
                #"{"a":[1,{"b":null}],"c":"d"}"#,
                .object(["a": .array([.integer(1), .object(["b": .null])]), "c": .string("d")])
            ),
            (
                #"{"\u0061\n":{"b":[]},"a":-1}"#,
                .object(["a\n": .object(["b": .array([])]), "a": .integer(-1)])
            ),
            (
                "[-9223372036854775808,-9223372036854775809]",
                .array([.integer(.min), .otherNumber])
            ),
        ] as [(String, Tree)]
    )
    private func values(text: String, value: Tree) throws {
        #expect(try read(text) == value)
    }

    @Test("escapes are decoded")
    func escapes() throws {
        #expect(
            try read(#""\"\\\/\b\f\n\r\t\u0041\u00e9\u4E2D\ud83d\ude00é""#)
                == .string("\"\\/\u{8}\u{c}\n\r\tA\u{e9}\u{4e2d}\u{1f600}é")
        )
    }

    @Test(
        "invalid JSON is rejected, with the position of the error",
        arguments: [
            ("", 0), (" ", 1), ("nul", 3), ("tru3", 3), ("[1,]", 3), ("{,}", 1), ("[1 2]", 3),
            (#"{"a" 1}"#, 5), (#"{"a":1,}"#, 7), ("{a:1}", 1), ("'a'", 0), ("01", 1), ("+1", 0),
            (".5", 0), ("1.", 2), ("1e", 2), ("-", 1), ("NaN", 0), ("Infinity", 0), ("[1", 2),
            (#"{"a":1"#, 6), (#""a"#, 2), ("\"a\nb\"", 2), (#""\x41""#, 3), (#""\u12g4""#, 3),
            (#""\ud800""#, 7), (#""\ud800\u0041""#, 13), (#""\udc00""#, 7), ("1 1", 2), ("[]]", 2),
            ("{}//", 2), ("\u{feff}{}", 0), ("[1,\u{b}2]", 3), ("0x10", 1),
        ]
    )
    func refused(text: String, place: Int) {
        #expect(throws: UnreadableReply.self) { try read(text) }
        do throws(UnreadableReply) {
            _ = try JSONReader.read([UInt8](text.utf8))
        } catch {
            guard case .notJSON(let at) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(abs(at - place) <= 1, "\(text) at \(at)")
        }
    }

    @Test("a duplicate key is rejected, even if one of the two keys has escapes")
    func duplicates() {
        #expect(throws: UnreadableReply.notJSON(at: 7)) { try read(#"{"a":1,"a":2}"#) }
        #expect(throws: UnreadableReply.self) { try read(#"{"a":1,"\u0061":1}"#) }
        #expect(throws: UnreadableReply.self) { try read(#"[{"x":{"a":1,"b":2,"a":1}}]"#) }
        #expect(throws: UnreadableReply.self) { try read(#"{"a":{"b":[1,{"c":2}]},"b":[],"a":1}"#) }
        #expect(throws: Never.self) { try read(#"{"a":{"a":[{"a":1},{"a":2}]},"\\u0061":1}"#) }
    }

    @Test("an object with 256 members is accepted, and with 257 members rejected")
    func members() throws {
        func object(_ count: Int) -> String {
            "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        }
        #expect(throws: Never.self) { try read(object(VendorLimits.maximumJSONMembers)) }
        #expect(throws: UnreadableReply.self) { try read(object(257)) }
    }

    @Test("an object can have 256 different keys with escapes")
    func escapedKeys() throws {
        let names = (0..<VendorLimits.maximumJSONMembers).map { number in
            let digits = String(number, radix: 16)
            return "\\u4e\(digits.count < 2 ? "0" : "")\(digits)\\n"
        }
        func object(_ names: [String]) -> String {
            "{" + names.map { "\"\($0)\":{\"\($0)\":0}" }.joined(separator: ",") + "}"
        }
        guard case .object(let members) = try read(object(names)) else {
            throw Unexpected(what: "no object")
        }
        #expect(members.count == names.count)
        #expect(members["\u{4eff}\n"] == .object(["\u{4eff}\n": .integer(0)]))
        for name in [names[0], names[100], "\u{4e64}\\u000a"] {
            #expect(throws: UnreadableReply.self) { try read(object(names.dropLast() + [name])) }
        }
    }

    @Test("8,192 values and keys are accepted, one more is rejected")
    func nodes() {
        func array(_ count: Int) -> String {
            "[" + Array(repeating: #"{"":0}"#, count: count).joined(separator: ",") + "]"
        }
        #expect(throws: Never.self) { try read(array(2_730)) }
        #expect(throws: UnreadableReply.self) { try read(array(2_731)) }
        let zeros = Array(repeating: "0", count: VendorLimits.maximumJSONNodes)
        #expect(throws: UnreadableReply.self) { try read("[\(zeros.joined(separator: ","))]") }
        #expect(throws: Never.self) { try read("[\(zeros.dropLast().joined(separator: ","))]") }
    }

    @Test("invalid UTF-8 is rejected")
    func notUTF8() {
        for octets in [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        ] {
            #expect(throws: UnreadableReply.self) {
                try JSONReader.read(octets.map { UInt8($0) })
            }
        }
    }

    @Test("more than 16 nesting levels are rejected")
    func depth() throws {
        func nested(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        #expect(throws: Never.self) { try read(nested(VendorLimits.maximumJSONDepth)) }
        #expect(throws: UnreadableReply.notJSON(at: 16)) { try read(nested(17)) }
        #expect(throws: UnreadableReply.self) {
            try read(String(repeating: #"{"a":"#, count: 10_000))
        }
        #expect(throws: UnreadableReply.self) { try read(String(repeating: "[", count: 60_000)) }
    }

    @Test("64 KiB are accepted, one more octet is rejected")
    func size() throws {
        let filler = String(repeating: " ", count: VendorLimits.maximumJSON - 2)
        #expect(try read("{}" + filler) == .object([:]))
        #expect(throws: UnreadableReply.tooLarge(octets: VendorLimits.maximumJSON + 1)) {
            try read("{}" + filler + " ")
        }
    }

    @Test("damaged text is either rejected or parsed, without a crash")
    func fuzz() {
        let seed = [UInt8](#"{"a":[1,-2.5e3,"\u00e9\n",null],"b":{"c":true,"d":"x y"}}"#.utf8)
        let alphabet = [UInt8](#"{}[]",:\0123456789.eEu-+ntf"#.utf8) + [0x80, 0xFF, 0x00]
        var random = SeededGenerator(state: 3)
        for _ in 0..<20_000 {
            var text = seed
            for _ in 0..<Int.random(in: 1...4, using: &random) where !text.isEmpty {
                let at = Int.random(in: 0..<text.count, using: &random)
                switch UInt8.random(in: 0..<4, using: &random) {
                case 0: text[at] = alphabet.randomElement(using: &random) ?? 0
                case 1: text.remove(at: at)
                case 2: text.removeSubrange(at...)
                default: text.insert(alphabet.randomElement(using: &random) ?? 0, at: at)
                }
            }
            do throws(UnreadableReply) {
                let value = Tree(try JSONReader.read(text))
                #expect(text.contains { !" \t\r\n".utf8.contains($0) }, "\(value)")
            } catch {
                guard case .notJSON(let at) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect((0...text.count).contains(at))
            }
        }
    }
}

@Suite("Base64, RFC 4648")
struct Base64Tests {
    @Test(
        "the vectors of RFC 4648 section 10 are decoded",
        arguments: [
            ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"), ("Zm9vYmFy", "foobar"),
        ]
    )
    func vectors(text: String, plain: String) {
        #expect(Base64.decode(text.utf8) == [UInt8](plain.utf8))
    }

    @Test("the 64 characters have the values 0 to 63")
    func alphabet() {
        let text = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        let octets = Base64.decode(text.utf8) ?? []
        let bits = octets.reduce(into: [UInt8]()) { bits, octet in
            for shift in (0..<8).reversed() { bits.append(octet >> UInt8(shift) & 1) }
        }
        let values = stride(from: 0, to: bits.count, by: 6).map {
            bits[$0..<$0 + 6].reduce(0) { $0 << 1 | $1 }
        }
        #expect(values == Array(0..<64))
    }

    @Test(
        "text that is not Base64 is rejected",
        arguments: [
            "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "=Zg=", "Z===", "====", "Zm9v\n", "Zm-v",
            "Zm_v", "Zm 9",
        ]
    )
    func refused(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }
}
