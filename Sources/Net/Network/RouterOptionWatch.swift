// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// NAT64 prefix in a router advertisement (PREF64, RFC 8781 §4).
package struct AnnouncedPrefix: Sendable, Hashable {
    /// 16 octets; those after the prefix are zero.
    package let octets: [UInt8]

    /// 32, 40, 48, 56, 64 or 96 bits.
    package let length: Int

    /// Time for which the prefix is valid; zero if the router withdraws it.
    package let lifetime: Duration

    /// Index of the interface that received the advertisement.
    let interface: Int32
}

/// Reports NAT64 prefixes in router advertisements.
///
/// The kernel passes the option on if it processes the advertisements of the link itself (`accept_ra`);
/// systemd-networkd and NetworkManager process them in place of the kernel.
@ServiceLoop
package final class RouterOptionWatch {
    private static let burst = 64
    private static let mostPrefixes = 4
    private static let pause: Duration = .milliseconds(100)

    /// Time until which messages are read, but ignored.
    private var resumption = Clock.now

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop (AnnouncedPrefix, _ link: String) -> Void
    private var watch: DescriptorWatch?

    nonisolated static func openEvents() -> Int32 { linux_router_options() }

    /// Watches this process's network namespace, until released.
    ///
    /// - Throws: `SocketError`, for example without AF_NETLINK in a sandbox.
    package convenience init(
        _ handler: @escaping @ServiceLoop (AnnouncedPrefix, _ link: String) -> Void
    ) throws {
        try self.init(
            events: OwnedDescriptor(Self.openEvents(), from: "netlink"),
            look: NetworkLook(),
            handler
        )
    }

    init(
        events: consuming OwnedDescriptor,
        look: NetworkLook,
        _ handler: @escaping @ServiceLoop (AnnouncedPrefix, _ link: String) -> Void
    ) throws {
        let raw = events.raw
        socket = events
        self.look = look
        self.handler = handler
        watch = nil
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit { watch?.cancel() }

    private func name(of interface: Int32) -> String? {
        var name: String?
        let link = [0, 0, 0, 0] + NetworkLook.octets(UInt32(bitPattern: interface))
        try? look.ask(ROUTE_GET_LINK, link + [UInt8](repeating: 0, count: 8), flags: 0) { fact in
            if case .link(let link) = fact { name = link.name }
        }
        return name
    }

    /// Reports each prefix once per ``pause``; a flood of advertisements costs only system calls.
    ///
    /// Lost messages are not noticed: the router repeats its advertisements.
    private func read() {
        let now = Clock.now
        let isPaused = now < resumption
        var seen: Set<AnnouncedPrefix> = []
        for _ in 0..<Self.burst {
            let datagram = try? ReceiveBuffer.receive(
                from: socket.raw,
                upTo: ReceiveBuffer.capacity
            )
            guard let datagram else { return }
            guard !isPaused else { continue }
            for message in (try? NetlinkMessage.all(in: datagram)) ?? [] {
                guard let prefix = AnnouncedPrefix(message), seen.count < Self.mostPrefixes,
                    seen.insert(prefix).inserted
                else { continue }
                resumption = now + Self.pause
                handler(prefix, name(of: prefix.interface) ?? "a former link")
            }
        }
    }
}

// MARK: - Parsing

extension AnnouncedPrefix {
    /// Octets of `struct nduseroptmsg`, which precedes the option.
    private static let headOctets = 16

    private static let option: UInt8 = 38
    private static let optionOctets = 16

    /// Lengths of the prefix by its code (RFC 8781 §4).
    private static let lengths = [96, 64, 56, 48, 40, 32]

    /// Returns nil for another option, or an invalid one.
    init?(_ message: NetlinkMessage) {
        let body = Array(message.body)
        guard message.type == ROUTE_ROUTER_OPTION,
            body.count >= Self.headOctets + Self.optionOctets, body[0] == 10
        else { return nil }
        let option = body[Self.headOctets...].prefix(Self.optionOctets)
        let start = option.startIndex
        // The length of the option is in units of eight octets.
        guard option[start] == Self.option, option[start + 1] == 2 else { return nil }
        let word = UInt16(option[start + 2]) << 8 | UInt16(option[start + 3])
        guard Self.lengths.indices.contains(Int(word & 7)),
            let index = try? (body[...].number(at: 4) as Int32)
        else { return nil }
        length = Self.lengths[Int(word & 7)]
        // The lifetime is in units of eight seconds, which fill the upper 13 bits.
        lifetime = .seconds(Int64(word & ~7))
        interface = index
        let kept = length / 8
        let zeros = [UInt8](repeating: 0, count: 16 - kept)
        octets = Array(option[(start + 4)...].prefix(kept)) + zeros
    }
}
