// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Records in zone file format (RFC 1035 §5.1).
///
/// Data of types that this reader does not know has the form `\# 3 010203` (RFC 3597 §5).
enum RecordText {
    struct Fault: Error {
        var message: String
    }

    private static let standardTTL: UInt32 = 3_600

    /// Parses `name [ttl] [IN] type data`.
    static func record(_ words: [String]) throws -> Record {
        var rest = words[...]
        guard let owner = rest.popFirst() else { throw Fault(message: "missing record") }
        var ttl = standardTTL
        if let number = rest.first.flatMap({ UInt32($0) }) {
            ttl = number
            rest.removeFirst()
        }
        if rest.first == "IN" { rest.removeFirst() }
        guard let word = rest.popFirst(), let type = RecordType(word) else {
            throw Fault(message: "a record needs a name and a type")
        }
        return Record(
            name: try name(owner),
            type: type,
            recordClass: .in,
            ttl: ttl,
            data: try data(type, Array(rest))
        )
    }

    private static func data(_ type: RecordType, _ words: [String]) throws -> RecordData {
        if words.first == "\\#" { return try parsed(type, words) }
        switch (type, words.count) {
        case (.a, 1):
            if let address = IPv4Address(words[0]) { return .a(address) }
        case (.aaaa, 1):
            if let address = IPv6Address(words[0]) { return .aaaa(address) }
        case (.cname, 1): return .cname(try name(words[0]))
        case (.ns, 1): return .ns(try name(words[0]))
        case (.ptr, 1): return .ptr(try name(words[0]))
        case (.dname, 1): return .opaque(try name(words[0]).octets)
        case (.mx, 2):
            return .mx(preference: try number(words[0]), exchange: try name(words[1]))
        case (.srv, 4):
            return .srv(
                priority: try number(words[0]),
                weight: try number(words[1]),
                port: try number(words[2]),
                target: try name(words[3])
            )
        case (.txt, 1...):
            return .txt(words.map { [UInt8]($0.filter { $0 != "\"" }.utf8) })
        case (.hinfo, 2):
            return .opaque(
                words.flatMap { word in
                    let text = [UInt8](word.filter { $0 != "\"" }.utf8)
                    return [UInt8(clamping: text.count)] + text
                }
            )
        case (.soa, 7):
            return .soa(
                SOA(
                    primary: try name(words[0]),
                    mailbox: try name(words[1]),
                    serial: try number(words[2]),
                    refresh: try number(words[3]),
                    retry: try number(words[4]),
                    expire: try number(words[5]),
                    minimum: try number(words[6])
                )
            )
        case (.https, 2...), (.svcb, 2...):
            return .svcb(
                ServiceBinding(
                    priority: try number(words[0]),
                    target: try name(words[1]),
                    parameters: try words.dropFirst(2).map(parameter)
                )
            )
        default: break
        }
        throw Fault(message: "invalid data of \(type): `\(words.joined(" "))`")
    }

    private static func parsed(_ type: RecordType, _ words: [String]) throws -> RecordData {
        let digits = words.dropFirst(2).joined()
        let octets = stride(from: 0, to: digits.count, by: 2).compactMap { index in
            UInt8(digits.dropFirst(index).prefix(2), radix: 16)
        }
        guard words.count > 1, Int(words[1]) == octets.count, digits.count == octets.count * 2
        else { throw Fault(message: "\\# needs a length and that many octets") }
        return .opaque(octets)
    }

    /// Parses `alpn=h2,h3`, `port=443`, `ipv4hint=192.0.2.1` or `ipv6hint=2001:db8::1`.
    private static func parameter(_ text: String) throws -> ServiceBinding.Parameter {
        let parts = text.split(separator: "=", maxSplits: 1)
        let values = parts.count > 1 ? parts[1].split(separator: ",") : []
        switch parts.first {
        case "alpn":
            let octets = values.flatMap { [UInt8(clamping: $0.utf8.count)] + [UInt8]($0.utf8) }
            return ServiceBinding.Parameter(key: .alpn, value: octets)
        case "port":
            let port: UInt16 = try number(values.map(String.init).joined())
            return ServiceBinding.Parameter(
                key: .port,
                value: [UInt8(port >> 8), UInt8(port & 0xFF)]
            )
        case "ipv4hint":
            let addresses = values.compactMap { IPv4Address(String($0)) }
            if addresses.count == values.count {
                return ServiceBinding.Parameter(
                    key: .ipv4Hint,
                    value: addresses.flatMap { RecordData.a($0).octets }
                )
            }
        case "ipv6hint":
            let addresses = values.compactMap { IPv6Address(String($0)) }
            if addresses.count == values.count {
                return ServiceBinding.Parameter(
                    key: .ipv6Hint,
                    value: addresses.flatMap { RecordData.aaaa($0).octets }
                )
            }
        default: break
        }
        throw Fault(message: "unknown service parameter `\(text)`")
    }

    private static func name(_ text: String) throws -> Name {
        do {
            return try Name(text)
        } catch {
            throw Fault(message: "invalid name `\(text)`: \(error)")
        }
    }

    private static func number<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw Fault(message: "invalid number `\(text)`") }
        return number
    }
}
