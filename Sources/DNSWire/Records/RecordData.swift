// SPDX-License-Identifier: Apache-2.0

/// Record data: typed for the types that the daemon interprets, otherwise opaque.
package enum RecordData: Hashable, Sendable {
    /// A, class IN (RFC 1035 §3.4.1).
    case a(IPv4Address)

    /// AAAA, class IN (RFC 3596 §2.1).
    case aaaa(IPv6Address)

    case cname(Name)
    case ns(Name)
    case ptr(Name)
    case mx(preference: UInt16, exchange: Name)

    /// TXT: at least one string of 0...255 octets (RFC 1035 §3.3.14).
    case txt([[UInt8]])

    /// SRV, class IN (RFC 2782).
    case srv(priority: UInt16, weight: UInt16, port: UInt16, target: Name)

    case soa(SOA)

    /// SVCB and HTTPS, class IN (RFC 9460 §2).
    case svcb(ServiceBinding)

    /// Data of another type (RFC 3597 §3), with decompressed names.
    case opaque([UInt8])
}

// MARK: - Reading

extension RecordData {
    /// Type that the data determines; nil for SVCB, HTTPS and opaque data.
    package var impliedType: RecordType? {
        switch self {
        case .a: .a
        case .aaaa: .aaaa
        case .cname: .cname
        case .ns: .ns
        case .ptr: .ptr
        case .mx: .mx
        case .txt: .txt
        case .srv: .srv
        case .soa: .soa
        case .svcb, .opaque: nil
        }
    }

    package func fits(_ type: RecordType) -> Bool {
        switch self {
        case .svcb: type.isServiceBinding
        case .opaque: type != .opt
        default: type == impliedType
        }
    }

    package var address: IPAddress? {
        switch self {
        case .a(let address): .v4(address)
        case .aaaa(let address): .v6(address)
        default: nil
        }
    }

    /// Uncompressed wire form.
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        append(to: &octets)
        return octets
    }
}

// MARK: - Wire

extension RecordData {
    init(
        parsing reader: inout WireReader,
        type: RecordType,
        recordClass: RecordClass
    ) throws(WireError) {
        // Records in updates may have no data (RFC 2136 §2.4, §2.5).
        let isUpdateForm = recordClass == .none || recordClass == .any
        if reader.isAtEnd, isUpdateForm {
            self = .opaque([])
            return
        }
        switch (type, recordClass) {
        case (.cname, _): self = .cname(try reader.name())
        case (.ns, _): self = .ns(try reader.name())
        case (.ptr, _): self = .ptr(try reader.name())
        case (.soa, _): self = .soa(try SOA(parsing: &reader))
        case (.mx, _):
            let preference = try reader.uint16()
            self = .mx(preference: preference, exchange: try reader.name())
        case (.txt, _):
            var strings: [[UInt8]] = []
            repeat { strings.append(try reader.characterString()) } while !reader.isAtEnd
            self = .txt(strings)
        case (.a, .in): self = .a(IPv4Address(value: try reader.uint32()))
        case (.aaaa, .in):
            let high = UInt64(try reader.uint32()) << 32 | UInt64(try reader.uint32())
            let low = UInt64(try reader.uint32()) << 32 | UInt64(try reader.uint32())
            self = .aaaa(IPv6Address(high: high, low: low))
        case (.srv, .in):
            let priority = try reader.uint16()
            let weight = try reader.uint16()
            let port = try reader.uint16()
            // Senders must not compress the name, but receivers must decompress it
            // (RFC 2782, RFC 3597 §4).
            let target = try reader.name()
            self = .srv(priority: priority, weight: weight, port: port, target: target)
        case (.svcb, .in), (.https, .in): self = .svcb(try ServiceBinding(parsing: &reader))
        default:
            if let layout = NamesInside(type: type, recordClass: recordClass) {
                self = .opaque(try layout.expand(&reader))
            } else {
                self = .opaque(reader.rest())
            }
        }
    }

    func append(to octets: inout [UInt8]) {
        switch self {
        case .a(let address): octets.append(bigEndian: address.value)
        case .aaaa(let address):
            octets.append(bigEndian: address.high)
            octets.append(bigEndian: address.low)
        case .cname(let name), .ns(let name), .ptr(let name): octets.append(contentsOf: name.octets)
        case .mx(let preference, let exchange):
            octets.append(bigEndian: preference)
            octets.append(contentsOf: exchange.octets)
        case .txt(let strings):
            precondition(!strings.isEmpty, "TXT data has at least one string")
            for string in strings {
                precondition(
                    string.count <= WireLimits.characterStringOctets,
                    "a string of TXT data has at most 255 octets"
                )
                octets.append(UInt8(string.count))
                octets.append(contentsOf: string)
            }
        case .srv(let priority, let weight, let port, let target):
            octets.append(bigEndian: priority)
            octets.append(bigEndian: weight)
            octets.append(bigEndian: port)
            octets.append(contentsOf: target.octets)
        case .soa(let soa):
            octets.append(contentsOf: soa.primary.octets)
            octets.append(contentsOf: soa.mailbox.octets)
            soa.appendNumbers(to: &octets)
        case .svcb(let binding): binding.append(to: &octets)
        case .opaque(let data): octets.append(contentsOf: data)
        }
    }
}

// MARK: - Conformances

extension RecordData: CustomStringConvertible {
    /// Text as in zone files (RFC 3597 §5 for opaque data).
    package var description: String {
        switch self {
        case .a(let address): address.description
        case .aaaa(let address): address.description
        case .cname(let name), .ns(let name), .ptr(let name): name.description
        case .mx(let preference, let exchange): "\(preference) \(exchange)"
        case .txt(let strings): strings.map(Self.quoted).joined(separator: " ")
        case .srv(let priority, let weight, let port, let target):
            "\(priority) \(weight) \(port) \(target)"
        case .soa(let soa): soa.description
        case .svcb(let binding): binding.description
        case .opaque(let data): "\\# \(data.count)" + (data.isEmpty ? "" : " \(data.hexadecimal)")
        }
    }

    static func quoted(_ string: [UInt8]) -> String {
        var characters = [UInt8(ascii: "\"")]
        for octet in string {
            characters.append(escaping: octet, special: Array("\"\\".utf8), space: true)
        }
        characters.append(UInt8(ascii: "\""))
        return String(decoding: characters, as: UTF8.self)
    }

}
