// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// NAT64 prefix in a router advertisement (PREF64, RFC 8781 §4).
package struct AnnouncedPrefix: Sendable, Hashable {
    /// Prefix, padded with zeros to 16 octets.
    package let octets: [UInt8]

    /// 32, 40, 48, 56, 64 or 96 bits.
    package let length: Int

    /// Zero if the router withdraws the prefix.
    package let lifetime: Duration

    let interface: Int32
}

/// Captive portal option of a router advertisement (RFC 8910 §2.3).
package struct AnnouncedPortal: Sendable, Hashable {
    /// False if the router announces that no captive portal exists.
    package let isRestricted: Bool

    let interface: Int32
}

/// Watch for NAT64 prefixes and captive portals in router advertisements.
///
/// The kernel reports these options only on interfaces with `accept_ra`.
@ServiceLoop
package final class RouterOptionWatch {
    private static let burst = 64
    private static let mostOptions = 4
    private static let pause: Duration = .milliseconds(100)

    private var resumption = Clock.now

    private let socket: OwnedDescriptor
    private let look: NetworkLook
    private let handler: @ServiceLoop (Option, _ link: String) -> Void
    private var watch: DescriptorWatch?

    package enum Option: Sendable, Hashable {
        case prefix(AnnouncedPrefix)
        case portal(AnnouncedPortal)

        fileprivate init?(_ message: NetlinkMessage) {
            if let prefix = AnnouncedPrefix(message) {
                self = .prefix(prefix)
            } else if let portal = AnnouncedPortal(message) {
                self = .portal(portal)
            } else {
                return nil
            }
        }

        fileprivate var interface: Int32 {
            switch self {
            case .prefix(let prefix): prefix.interface
            case .portal(let portal): portal.interface
            }
        }
    }

    nonisolated static func openEvents() -> Int32 { linux_router_options() }

    /// Watches this process's network namespace, until released.
    package convenience init(
        _ handler: @escaping @ServiceLoop (Option, _ link: String) -> Void
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
        _ handler: @escaping @ServiceLoop (Option, _ link: String) -> Void
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

    /// Ignores messages for ``pause`` after an option, so that a flood costs only system calls.
    ///
    /// The router repeats its advertisements, so the watch need not detect lost messages.
    private func read() {
        let now = Clock.now
        let isPaused = now < resumption
        var seen: Set<Option> = []
        for _ in 0..<Self.burst {
            guard let datagram = try? ReceiveBuffer.receive(from: socket.raw) else { return }
            guard !isPaused else { continue }
            for message in (try? NetlinkMessage.all(in: datagram)) ?? [] {
                guard let option = Option(message), seen.count < Self.mostOptions,
                    seen.insert(option).inserted
                else { continue }
                resumption = now + Self.pause
                handler(option, name(of: option.interface) ?? "a former link")
            }
        }
    }
}

// MARK: - Parsing

private struct RouterOption {
    let type: UInt8

    let body: ArraySlice<UInt8>

    let interface: Int32

    private static let headOctets = 16

    init?(_ message: NetlinkMessage) {
        let octets = Array(message.body)
        guard message.type == ROUTE_ROUTER_OPTION, octets.count >= Self.headOctets + 8,
            octets[0] == 10, let index = try? (octets[...].number(at: 4) as Int32)
        else { return nil }
        let option = octets[Self.headOctets...]
        let length = 8 * Int(octets[Self.headOctets + 1])
        guard length > 0, option.count >= length else { return nil }
        type = octets[Self.headOctets]
        body = option.prefix(length).dropFirst(2)
        interface = index
    }
}

extension AnnouncedPortal {
    private static let option: UInt8 = 37

    /// URI of a network without a captive portal (RFC 8910 §2).
    private static let unrestricted = "urn:ietf:params:capport:unrestricted"

    init?(_ message: NetlinkMessage) {
        guard let option = RouterOption(message), option.type == Self.option else { return nil }
        // Zeros pad the URI to a multiple of eight octets.
        let uri = option.body.prefix { $0 != 0 }
        guard !uri.isEmpty else { return nil }
        isRestricted = !uri.elementsEqual(Self.unrestricted.utf8)
        interface = option.interface
    }
}

extension AnnouncedPrefix {
    private static let option: UInt8 = 38
    private static let bodyOctets = 14

    /// Prefix lengths in bits; the index is the code in the option (RFC 8781 §4).
    private static let lengths = [96, 64, 56, 48, 40, 32]

    init?(_ message: NetlinkMessage) {
        guard let option = RouterOption(message), option.type == Self.option,
            option.body.count == Self.bodyOctets
        else { return nil }
        let start = option.body.startIndex
        let word = UInt16(option.body[start]) << 8 | UInt16(option.body[start + 1])
        guard Self.lengths.indices.contains(Int(word & 7)) else { return nil }
        length = Self.lengths[Int(word & 7)]
        // The upper 13 bits contain the lifetime in units of eight seconds.
        lifetime = .seconds(Int64(word & ~7))
        interface = option.interface
        let kept = length / 8
        let zeros = [UInt8](repeating: 0, count: 16 - kept)
        octets = Array(option.body[(start + 2)...].prefix(kept)) + zeros
    }
}
