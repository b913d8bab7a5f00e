// SPDX-License-Identifier: Apache-2.0

/// Message of netlink(7), in host byte order.
struct NetlinkMessage: Equatable {
    let type: UInt16

    let body: Octets

    static let headerOctets = 16

    typealias Octets = ArraySlice<UInt8>

    static func all(in datagram: [UInt8]) throws(NetlinkError) -> [NetlinkMessage] {
        try datagram[...].items(head: headerOctets, lengthIn: UInt32.self)
            .map { item throws(NetlinkError) in
                NetlinkMessage(type: try item.number(at: 4), body: item.dropFirst(headerOctets))
            }
    }
}

struct NetlinkAttribute: Equatable {
    let type: UInt16
    let value: NetlinkMessage.Octets

    static let headerOctets = 4

    static func all(
        in octets: NetlinkMessage.Octets
    ) throws(NetlinkError) -> [NetlinkAttribute] {
        try octets.items(head: headerOctets, lengthIn: UInt16.self)
            .map { item throws(NetlinkError) in
                // The two highest bits are flags for nesting and byte order.
                let type = (try item.number(at: 2) as UInt16) & 0x3FFF
                return NetlinkAttribute(type: type, value: item.dropFirst(headerOctets))
            }
    }

    var text: String { String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Error in a netlink message; `at` is the octet offset in the datagram.
enum NetlinkError: Error, Hashable {
    case truncated(at: Int)

    case length(at: Int)

    case address(at: Int)

    case refused(Int32)

    case tooMuch
}

extension NetlinkMessage.Octets {
    func items<Length: FixedWidthInteger>(
        head: Int,
        lengthIn _: Length.Type
    ) throws(NetlinkError) -> [Self] {
        var items: [Self] = []
        var rest = self
        while !rest.isEmpty {
            let length = Int(try rest.number(at: 0) as Length)
            guard length >= head, length <= rest.count else { throw .length(at: rest.startIndex) }
            items.append(rest.prefix(length))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return items
    }

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
