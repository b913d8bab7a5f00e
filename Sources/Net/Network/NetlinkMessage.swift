// SPDX-License-Identifier: Apache-2.0

/// Message of netlink(7), in host byte order.
struct NetlinkMessage: Equatable {
    let type: UInt16

    /// Sequence number of the request, 0 for a notification.
    let sequence: UInt32

    let body: Octets

    static let headerOctets = 16

    typealias Octets = ArraySlice<UInt8>

    /// Parses a datagram; throws if a length is invalid.
    static func all(in datagram: [UInt8]) throws(NetlinkError) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while !rest.isEmpty {
            let length = Int(try rest.number(at: 0) as UInt32)
            guard length >= headerOctets, length <= rest.count else {
                throw .length(at: rest.startIndex)
            }
            messages.append(
                NetlinkMessage(
                    type: try rest.number(at: 4),
                    sequence: try rest.number(at: 8),
                    body: rest.prefix(length).dropFirst(headerOctets)
                )
            )
            rest = rest.dropFirst(aligned(length))
        }
        return messages
    }

    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

struct NetlinkAttribute: Equatable {
    let type: UInt16
    let value: NetlinkMessage.Octets

    static let headerOctets = 4

    static func all(
        in octets: NetlinkMessage.Octets
    ) throws(NetlinkError) -> [NetlinkAttribute] {
        var attributes: [NetlinkAttribute] = []
        var rest = octets
        while !rest.isEmpty {
            let length = Int(try rest.number(at: 0) as UInt16)
            guard length >= headerOctets, length <= rest.count else {
                throw .length(at: rest.startIndex)
            }
            // The two highest bits are flags for nesting and byte order.
            let type = (try rest.number(at: 2) as UInt16) & 0x3FFF
            attributes.append(
                NetlinkAttribute(
                    type: type,
                    value: rest.prefix(length).dropFirst(headerOctets)
                )
            )
            rest = rest.dropFirst(NetlinkMessage.aligned(length))
        }
        return attributes
    }

    var text: String { String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Error in a netlink message; `at` is the octet offset in the datagram.
enum NetlinkError: Error, Hashable {
    case truncated(at: Int)

    /// A length is shorter than the header, or longer than the enclosing object.
    case length(at: Int)

    case address(at: Int)

    case refused(Int32)

    case tooMuch
}

extension NetlinkMessage.Octets {
    func number<Number: FixedWidthInteger>(at offset: Int) throws(NetlinkError) -> Number {
        let size = Number.bitWidth / 8
        let start = startIndex + offset
        guard offset >= 0, offset + size <= count else { throw .truncated(at: start) }
        var number: Number = 0
        for octet in self[start..<start + size].reversed() {
            number = number << 8 | Number(truncatingIfNeeded: octet)
        }
        return Number(littleEndian: number)
    }
}
