// SPDX-License-Identifier: Apache-2.0

/// Random zone, with query names; addresses are from RFC 5737.
struct GeneratedZone {
    static let name = "generated.example"

    /// Master file (RFC 1035 §5).
    private(set) var text: String

    private(set) var owners: [String] = []

    private(set) var parents: [String] = []

    private var random: Seeded
    private var taken: Set<String> = []

    init(seed: UInt64) {
        random = Seeded(seed)
        text = """
            $ORIGIN \(Self.name).
            $TTL 3600
            @ SOA ns hostmaster 1 3600 600 86400 60
            @ NS ns
            @ MX 5 mail
            ns A 198.51.100.53

            """
        owners = ["\(Self.name)."]
        for _ in 0..<160 { addPlain() }
        for _ in 0..<30 { addAlias() }
        for number in 0..<6 {
            add("*.wild\(number)", plainData())
            parents.append("wild\(number).\(Self.name).")
            text += "renamed\(number) \(ttl) DNAME wild\(number)\n"
            parents.append("renamed\(number).\(Self.name).")
            add("many\(number)", (0..<25 + 10 * number).map { "A 198.51.100.\($0)" })
            let strings = (0..<4 + 4 * number).map {
                "\"\($0) \(String(repeating: "x", count: 200))\""
            }
            add("long\(number)", strings.map { "TXT \($0)" })
            add("deep.below.nothing\(number)", plainData())
        }
    }

    mutating func question() -> String {
        let owner = owners[pick(owners.count)]
        switch pick(20) {
        case 0..<12: return owner
        case 12: return "below." + owner
        case 13...15: return "\(label()).\(parents[pick(parents.count)])"
        case 16: return "below.nothing\(pick(6)).\(Self.name)."
        case 17: return "a.b.\(parents[pick(parents.count)])"
        default: return "missing\(pick(99)).\(Self.name)."
        }
    }

    private mutating func label() -> String {
        let plain = (0..<1 + pick(9)).map { _ in
            String(
                "abcdefghijklmnopqrstuvwxyzABCDEFG0123456789-_".randomElement(using: &random) ?? "a"
            )
        }.joined()
        switch pick(12) {
        case 0: return plain + "\\." + plain
        case 1: return "\\000" + plain + "\\255\\032"
        case 2: return String(repeating: "l", count: 63)
        default: return "a" + plain
        }
    }

    private mutating func newName() -> String {
        while true {
            let name = (0..<1 + pick(4)).map { _ in label() }.joined(separator: ".")
            // No name may exist below a DNAME, and no other record at the name of an alias.
            let last = name.lowercased().split(separator: ".").last.map(String.init) ?? ""
            if name.utf8.count < 200, taken.insert(last).inserted { return name }
        }
    }

    private mutating func add(_ name: String, _ records: [String]) {
        for record in records { text += "\(name) \(ttl) \(record)\n" }
        owners.append("\(name).\(Self.name).")
    }

    private mutating func addPlain() {
        let name = newName()
        var records: [String] = []
        for _ in 0..<1 + pick(3) { records += plainData() }
        add(name, Array(Set(records)).sorted())
    }

    /// Adds an alias to an existing name, a missing name (RFC 6604 §3), or itself.
    private mutating func addAlias() {
        let name = newName()
        switch pick(10) {
        case 0: add(name, ["CNAME \(name)"])
        case 1: add(name, ["CNAME not.there"])
        case 2: add(name, ["CNAME x.\(parents.first ?? Self.name + ".")"])
        default: add(name, ["CNAME \(owners[pick(owners.count)])"])
        }
    }

    private mutating func plainData() -> [String] {
        let kind = pick(16)
        return (0..<1 + pick(3)).map { _ in data(kind) }
    }

    private mutating func data(_ kind: Int) -> String {
        switch kind {
        case 0...3: "A 192.0.2.\(pick(256))"
        case 4, 5: "AAAA 2001:db8::\(String(pick(65_536), radix: 16))"
        case 6: "MX \(pick(100)) mail\(pick(9))"
        case 7: "TXT \"\(label())\" \"\\\"\\000\\255\""
        case 8: "SRV \(pick(9)) 0 \(pick(65_536)) host\(pick(9)).elsewhere.example."
        case 9: "NAPTR 10 \(pick(100)) \"u\" \"E2U+sip\" \"!^.*$!sip:x@example.com!\" ."
        case 10: "CAA 0 issue \"ca\(pick(9)).example\""
        case 11: "SSHFP 4 2 \(String(repeating: "ab", count: 32))"
        case 12: "TLSA 3 1 1 \(String(repeating: "cd", count: 31))\(10 + pick(80))"
        case 13: "HTTPS \(1 + pick(9)) svc\(pick(9)) alpn=h2,h3 ipv4hint=192.0.2.\(pick(256))"
        case 14: "PTR host\(pick(99)).elsewhere.example."
        default: "TYPE\(65_280 + pick(4)) \\# 4 DEADBE\(10 + pick(80))"
        }
    }

    private var ttl: Int { mutating get { [30, 60, 300, 3_600][pick(4)] } }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
}
