// SPDX-License-Identifier: Apache-2.0

/// Option of an OPT record (RFC 6891 §6.1.2).
package enum EDNSOption: Hashable, Sendable {
    /// Cookie; the server cookie has 0 or 8...32 octets (RFC 7873 §4).
    case cookie(client: [UInt8], server: [UInt8])

    /// Idle timeout in units of 100 ms; nil in queries (RFC 7828 §3.1).
    case keepalive(timeout: UInt16?)

    /// The text is not trusted: escape it before display (RFC 8914 §2).
    case extendedError(code: ExtendedError, text: String)

    case unknown(code: UInt16, octets: [UInt8])

    package enum Code {
        fileprivate static let clientSubnet: UInt16 = 8
        package static let cookie: UInt16 = 10
        package static let keepalive: UInt16 = 11

        package static let padding: UInt16 = 12

        package static let extendedError: UInt16 = 15
    }
}

// MARK: - Reading

extension EDNSOption {
    package var code: UInt16 {
        switch self {
        case .cookie: Code.cookie
        case .keepalive: Code.keepalive
        case .extendedError: Code.extendedError
        case .unknown(let code, _): code
        }
    }
}

// MARK: - Wire

extension EDNSOption {
    init(parsing reader: inout WireReader) throws(WireError) {
        let start = reader.offset
        do throws(WireError) {
            let code = try reader.uint16()
            let count = Int(try reader.uint16())
            let outer = try reader.enterField(count)
            self = try EDNSOption(code: code, content: &reader)
            guard reader.isAtEnd else { throw .badOption(at: start) }
            reader.leaveField(outer)
        } catch .truncated(let offset) {
            throw .badOption(at: offset)
        }
    }

    private init(code: UInt16, content reader: inout WireReader) throws(WireError) {
        let start = reader.offset
        switch code {
        case Code.clientSubnet:
            let octets = reader.rest()
            guard Self.isClientSubnet(octets) else { throw .badOption(at: start) }
            self = .unknown(code: code, octets: octets)
        case Code.cookie:
            let client = try reader.octets(8)
            guard reader.isAtEnd || 8...32 ~= reader.remaining else { throw .badOption(at: start) }
            self = .cookie(client: client, server: reader.rest())
        case Code.keepalive: self = .keepalive(timeout: reader.isAtEnd ? nil : try reader.uint16())
        case Code.extendedError:
            let octets = reader.rest()
            guard octets.count >= 2 else { throw .badOption(at: start) }
            let info = UInt16(octets[0]) << 8 | UInt16(octets[1])
            if let text = String(validating: octets[2...], as: UTF8.self) {
                self = .extendedError(code: ExtendedError(rawValue: info), text: text)
            } else {
                self = .unknown(code: code, octets: octets)
            }
        default: self = .unknown(code: code, octets: reader.rest())
        }
    }

    /// Returns true for a valid client subnet (RFC 7871 §6); family 0 contains no address.
    private static func isClientSubnet(_ octets: [UInt8]) -> Bool {
        guard octets.count >= 4, octets[0] == 0, octets[1] <= 2 else { return false }
        let (width, source, scope) = ([0, 32, 128][Int(octets[1])], Int(octets[2]), Int(octets[3]))
        guard source <= width, scope <= width, octets.count == 4 + (source + 7) / 8 else {
            return false
        }
        return source % 8 == 0 || octets[octets.count - 1] << UInt8(source % 8) == 0
    }

    /// Appends the wire form; traps if a length is invalid.
    func append(to octets: inout [UInt8]) {
        octets.append(bigEndian: code)
        let lengthAt = octets.count
        octets.append(bigEndian: UInt16(0))
        switch self {
        case .cookie(let client, let server):
            precondition(client.count == 8, "a client cookie has 8 octets")
            precondition(
                server.isEmpty || 8...32 ~= server.count,
                "a server cookie has 8 to 32 octets"
            )
            octets.append(contentsOf: client)
            octets.append(contentsOf: server)
        case .keepalive(let timeout): if let timeout { octets.append(bigEndian: timeout) }
        case .extendedError(let code, let text):
            octets.append(bigEndian: code.rawValue)
            octets.append(contentsOf: text.utf8)
        case .unknown(_, let content): octets.append(contentsOf: content)
        }
        let count = octets.count - lengthAt - 2
        precondition(count <= Int(UInt16.max), "an EDNS option has a 16-bit length")
        octets.patch(UInt16(count), at: lengthAt)
    }
}
