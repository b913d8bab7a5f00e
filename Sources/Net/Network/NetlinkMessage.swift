// SPDX-License-Identifier: Apache-2.0

/// One message of netlink(7): what it says, and about what.
///
/// Numbers are in the machine's own order of octets.
struct NetlinkMessage: Equatable {
    /// What it is, such as RTM_NEWADDR.
    let type: UInt16

    /// The sequence number of the request it answers, 0 for a notification.
    let sequence: UInt32

    /// What follows the header.
    let body: Octets

    /// Octets of a header (`struct nlmsghdr`).
    static let headerOctets = 16

    /// Part of a datagram.
    typealias Octets = ArraySlice<UInt8>

    /// The messages in a datagram, in their order.
    ///
    /// - Throws: `NetlinkError` if a message is shorter than its header, or longer than what is there;
    ///   what came before it counts for nothing, as whoever wrote that cannot be trusted to have
    ///   written this.
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

    /// `length` with the padding behind it: everything begins at a multiple of 4 octets.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// One attribute of a message: a number that says what it is, and its octets.
struct NetlinkAttribute: Equatable {
    let type: UInt16
    let value: NetlinkMessage.Octets

    /// Octets of a header (`struct rtattr`).
    static let headerOctets = 4

    /// The attributes in part of a message, in their order.
    ///
    /// - Throws: `NetlinkError.length` as for messages.
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
            // The two highest bits tell of nesting and of byte order.
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

    /// The value as a text that ends with NUL, cut there.
    var text: String { String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }
}

/// What is wrong with a message of netlink, and at which octet of its datagram.
enum NetlinkError: Error, Hashable {
    /// It ends before something that has to be there.
    case truncated(at: Int)

    /// It says that it is longer than its surroundings, or shorter than its header.
    case length(at: Int)

    /// An address has not the length of its family's.
    case address(at: Int)

    /// The kernel refused a request, with this `errno`.
    case refused(Int32)

    /// The kernel has more to tell than we want to know.
    case tooMuch
}

extension NetlinkMessage.Octets {
    /// The number at an offset from the beginning.
    ///
    /// - Throws: `NetlinkError.truncated`.
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
