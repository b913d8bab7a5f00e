// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// Query of the network state over rtnetlink(7); does not block.
struct NetworkLook {
    var open: () -> Int32 = openRequests

    static let maximumReply = 4 << 20

    /// Maximum octets of a reply with routes; a router can have a million routes.
    ///
    /// The kernel lists the shortest prefixes first, so a cut reply contains the default routes.
    static let maximumRoutes = 64 << 10

    @Sendable
    static func openRequests() -> Int32 { linux_route_requests() }

    @Sendable
    static func openEvents() -> Int32 { linux_route_events() }

    @ServiceLoop
    func state() throws -> NetworkState {
        var state = NetworkState()
        for family in [UInt8(AF_INET), UInt8(AF_INET6)] {
            // `struct ifaddrmsg` or `struct rtmsg`; zeros select all addresses or routes.
            let addresses = [family] + [UInt8](repeating: 0, count: 7)
            var routes = [family] + [UInt8](repeating: 0, count: 11)
            routes[4] = UInt8(ROUTE_TABLE_MAIN)
            try ask(ROUTE_GET_ADDRESS, addresses) { state.note($0) }
            do {
                try ask(ROUTE_GET_ROUTE, routes, upTo: Self.maximumRoutes) { state.note($0) }
            } catch NetlinkError.tooMuch {
            }
        }
        for index in state.interfaces {
            let link = [0, 0, 0, 0] + Self.octets(UInt32(bitPattern: index)) + [0, 0, 0, 0]
            try ask(ROUTE_GET_LINK, link + [0, 0, 0, 0], flags: 0) { state.note($0) }
        }
        return state
    }

    @ServiceLoop
    func ask(
        _ type: Int,
        _ body: [UInt8],
        flags: Int = ROUTE_FLAG_DUMP,
        upTo limit: Int = maximumReply,
        _ note: (NetworkFact) -> Void
    ) throws {
        // A socket with an unread reply accepts no request.
        let socket = try OwnedDescriptor(open(), from: "netlink")
        let length = UInt32(NetlinkMessage.headerOctets + body.count)
        let head = Self.octets(length) + Self.octets(UInt16(type))
        let rest = Self.octets(UInt16(ROUTE_FLAG_REQUEST | flags)) + [0, 0, 0, 0, 0, 0, 0, 0]
        let request = head + rest + body
        // SAFETY: exactly the array's octets are read.
        let sent = unsafe send(socket.raw, request, request.count, 0)
        guard sent == request.count else { throw SocketError.last("netlink") }

        var octets = 0
        while octets < limit {
            guard let datagram = try ReceiveBuffer.receive(from: socket.raw) else {
                throw NetlinkError.truncated(at: 0)
            }
            octets += datagram.count
            for message in try NetlinkMessage.all(in: datagram) {
                if let code = try message.endCode {
                    guard code == 0 || Self.meansNothing(code) else {
                        throw NetlinkError.refused(code)
                    }
                    return
                }
                if let fact = try NetworkFact(message) { note(fact) }
            }
            if flags == 0 { return }
        }
        throw NetlinkError.tooMuch
    }

    private static func meansNothing(_ code: Int32) -> Bool {
        [ENODEV, ENOENT, EOPNOTSUPP, EAFNOSUPPORT].contains(code)
    }

    static func octets<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        // SAFETY: reads the octets of the number.
        unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    }
}

extension NetlinkMessage {
    /// The `errno` in the message that ends a reply, or 0; nil for other messages.
    fileprivate var endCode: Int32? {
        get throws(NetlinkError) {
            switch Int(type) {
            case ROUTE_DONE: return body.count >= 4 ? 0 - (try body.number(at: 0) as Int32) : 0
            case ROUTE_ERROR: return 0 - (try body.number(at: 0) as Int32)
            default: return nil
            }
        }
    }
}
