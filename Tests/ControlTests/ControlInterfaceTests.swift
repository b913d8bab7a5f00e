// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Control

@Suite("Interface description")
struct InterfaceTests {
    func code(_ description: String) -> String {
        description.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.prefix { $0 != "#" } }
            .joined(separator: "\n")
    }

    func names(in value: JSONValue) -> Set<String> {
        let maps: Set = [
            "by-source", "by-rcode", "by-transport", "failures", "failures-by-kind", "avoided",
            "dropped", "packets", "saved",
        ]
        switch value {
        case .array(let values):
            return values.reduce(into: []) { $0.formUnion(names(in: $1)) }
        case .object(let members):
            return members.reduce(into: []) { result, member in
                result.insert(member.key)
                if !maps.contains(member.key) { result.formUnion(names(in: member.value)) }
            }
        default: return []
        }
    }

    @Test("the description declares each field; a field name with a hyphen is only in a comment")
    func complete() throws {
        let values = try MessageFormatTests.replies.map { try JSONText.encode($0) }
        let sent = try values.reduce(into: Set<String>()) { result, octets in
            result.formUnion(names(in: try JSONText.decode(JSONValue.self, from: octets)))
        }
        for name in sent {
            let wanted = name.contains("-") ? name : name + ": "
            #expect(
                ControlInterface.description.contains(wanted) as Bool,
                "\(name) is not declared"
            )
        }
    }

    @Test("the description declares exactly the methods and errors of the daemon")
    func methods() {
        let members = { (keyword: String) in
            code(ControlInterface.description).split(separator: "\n")
                .filter { $0.hasPrefix(keyword + " ") }
                .map { String($0.dropFirst(keyword.count + 1).prefix { $0.isLetter }) }
        }
        #expect(
            members("method") == [
                "Status", "Stats", "Flush", "Lookup", "Explain", "Resolve", "Dump", "Top", "Bill",
                "Prove", "Watch", "Pause", "Resume", "Reload", "Check", "Settings", "Routes",
                "LogLevel", "Portal",
                "Version",
            ]
        )
        #expect(
            members("method").sorted() == ControlInterface.Method.allCases.map(\.rawValue).sorted()
        )
        #expect(members("error") == ["NotFound", "InvalidArgument", "Denied", "Failed"])
    }

    @Test(
        "the description follows Varlink's grammar",
        arguments: [ControlInterface.description, ServiceInterface.description]
    )
    func grammar(_ description: String) throws {
        var reader = InterfaceReader(text: code(description))
        try reader.readInterface()
    }

    @Test("the test's grammar rejects a name that is declared twice, and an undeclared type")
    func types() throws {
        func read(_ members: String) throws {
            var reader = InterfaceReader(text: "interface a.b " + members)
            try reader.readInterface()
        }
        #expect(throws: InterfaceReader.Fault.self) { try read("type A (a: int) type A (b: int)") }
        #expect(throws: InterfaceReader.Fault.self) { try read("type A (a: int) error A (b: int)") }
        #expect(throws: InterfaceReader.Fault.self) { try read("type A (a: []B)") }
        try read("method M() -> (a: ?A) type A (a: int)")
    }

    @Test("`Method(fullName:)` accepts only the full name of a method")
    func methodNames() {
        for method in ControlInterface.Method.allCases {
            #expect(ControlInterface.Method(fullName: method.fullName) == method)
        }
        #expect(ControlInterface.Method(fullName: "io.httpdnsd.Control.status") == nil)
        #expect(ControlInterface.Method(fullName: "io.httpdnsd.ControlXStatus") == nil)
        #expect(ControlInterface.Method(fullName: "Status") == nil)
    }
}

struct InterfaceReader {
    struct Fault: Error {
        let expected: String
        let rest: Substring
    }

    private var rest: Substring

    /// Declared names; types, methods and errors share one namespace.
    private var declared: Set<Substring> = []
    private var used: Set<Substring> = []

    init(text: String) { rest = text[...] }

    mutating func readInterface() throws {
        try expect("interface")
        _ = try word { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" }
        while !skippingSpace().isEmpty {
            let keyword = try word(\.isLetter)
            let name = try readTypeName()
            guard declared.insert(name).inserted else {
                throw Fault(expected: "a name other than \(name)", rest: rest)
            }
            switch keyword {
            case "type", "error": try readStruct()
            case "method":
                try readStruct()
                try expect("->")
                try readStruct()
            default: throw Fault(expected: "type, method or error", rest: rest)
            }
        }
        if let name = used.subtracting(declared).first {
            throw Fault(expected: "a declaration of \(name)", rest: rest)
        }
    }

    private mutating func readType() throws {
        if take("?") { return try readType() }
        if take("[string]") || take("[]") { return try readType() }
        if skippingSpace().hasPrefix("(") { return try readStruct() }
        for builtin in ["bool", "int", "float", "string", "object"] where take(builtin) { return }
        used.insert(try readTypeName())
    }

    private mutating func readStruct() throws {
        try expect("(")
        if take(")") { return }
        repeat {
            _ = try word { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            if take(":") { try readType() }
        } while take(",")
        try expect(")")
    }

    private mutating func readTypeName() throws -> Substring {
        guard skippingSpace().first?.isUppercase == true else {
            throw Fault(expected: "a type name", rest: rest)
        }
        return try word { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    private mutating func skippingSpace() -> Substring {
        rest = rest.drop(while: \.isWhitespace)
        return rest
    }

    private mutating func word(_ fits: (Character) -> Bool) throws -> Substring {
        let word = skippingSpace().prefix(while: fits)
        guard !word.isEmpty else { throw Fault(expected: "a word", rest: rest) }
        rest = rest.dropFirst(word.count)
        return word
    }

    private mutating func take(_ token: String) -> Bool {
        guard skippingSpace().hasPrefix(token) else { return false }
        rest = rest.dropFirst(token.count)
        return true
    }

    private mutating func expect(_ token: String) throws {
        guard take(token) else { throw Fault(expected: token, rest: rest) }
    }
}
