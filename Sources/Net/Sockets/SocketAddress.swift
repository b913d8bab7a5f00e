// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// IPv4 or IPv6 address and port.
///
/// Parses address literals only, because resolving a name would query this daemon.
///
/// Public, because Swift 6.3 inlines no `package` function into another module.
@frozen
public struct SocketAddress: Sendable, Hashable {
    /// Most significant octets first; an IPv4 address is in the upper half of `high`.
    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    @usableFromInline package let isIPv6: Bool

    @usableFromInline package var port: UInt16

    /// Interface of a link-local IPv6 address: its index, its number in ``InterfaceNames``, or 0.
    @usableFromInline package internal(set) var scope: UInt32

    /// Index of the interface for all packets to this address; 0 to follow the routing table.
    ///
    /// Set for a server of a VPN, because a network could add a route to the server, for example by
    /// DHCP.
    @usableFromInline package var link: UInt32 = 0

    package init?(octets: [UInt8], port: UInt16, scope: UInt32 = 0) {
        guard octets.count == 4 || octets.count == 16 else { return nil }
        isIPv6 = octets.count == 16
        high = Self.number(octets.prefix(8))
        low = Self.number(octets.dropFirst(8))
        self.port = port
        self.scope = scope
    }

    private static func number(_ octets: some Sequence<UInt8>) -> UInt64 {
        var (number, shift): (UInt64, UInt64) = (0, 64)
        for octet in octets {
            shift -= 8
            number |= UInt64(octet) << shift
        }
        return number
    }

    private init(v4 address: UInt32, port: UInt16) {
        (high, low, isIPv6, scope) = (UInt64(address) << 32, 0, false, 0)
        self.port = port
    }

    /// 4 or 16 octets in network byte order.
    package var octets: [UInt8] {
        (0..<(isIPv6 ? 16 : 4)).map { index in
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8))
        }
    }

    package var isUnspecified: Bool { high == 0 && low == 0 }

    package var interfaceName: String? { InterfaceNames.name(of: scope) }

    /// The kernel ignores the interface in all addresses outside fe80::/10.
    var needsNamedInterface: Bool { isIPv6 && high >> 54 == 0x3FA && interfaceName != nil }

    package var lacksInterface: Bool {
        needsNamedInterface && interfaceIndex == InterfaceNames.absentIndex
    }

    /// Present index; 0 without interface, ``InterfaceNames/absentIndex`` for an absent interface.
    var interfaceIndex: UInt32 { interfaceName.map(InterfaceNames.index) ?? scope }

    package func overlaps(_ other: SocketAddress) -> Bool {
        port == other.port && isIPv6 == other.isIPv6
            && (isUnspecified || other.isUnspecified || hasSameHost(as: other))
    }

    /// Returns true for the same address, port and interface, even if one value has the name of the
    /// interface, and the other value has the index.
    package func isSame(as other: SocketAddress) -> Bool {
        port == other.port && isIPv6 == other.isIPv6 && hasSameHost(as: other)
    }

    private func hasSameHost(as other: SocketAddress) -> Bool {
        guard high == other.high, low == other.low else { return false }
        // All absent interfaces have the same index (`absentIndex`).
        let isOneNamed = (interfaceName == nil) != (other.interfaceName == nil)
        return scope == other.scope || isOneNamed && interfaceIndex == other.interfaceIndex
    }

    /// Compares addresses, ports and interfaces.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        left.high == right.high && left.low == right.low && left.isIPv6 == right.isIPv6
            && left.port == right.port && left.scope == right.scope && left.link == right.link
    }

    /// Hashes address and port.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
        hasher.combine(port)
    }
}

// MARK: - Text

extension SocketAddress: CustomStringConvertible {
    /// Parses `192.0.2.1:53`, `[2001:db8::1]:53` or, with a default port, an address alone.
    package init?(_ text: String, defaultPort: UInt16? = nil) {
        var address = Substring(text)
        var port = defaultPort
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            address = text[text.index(after: text.startIndex)..<close]
            let rest = text[text.index(after: close)...]
            if !rest.isEmpty {
                guard rest.hasPrefix(":"), let number = Self.port(rest.dropFirst()) else {
                    return nil
                }
                port = number
            }
            guard address.contains(":") else { return nil }
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            address = text[..<colon]
            guard let number = Self.port(text[text.index(after: colon)...]) else { return nil }
            port = number
        }
        guard let port else { return nil }

        var scope: UInt32 = 0
        if let percent = address.firstIndex(of: "%") {
            let zone = String(address[address.index(after: percent)...])
            if let index = UInt64(zone) {
                guard (1...UInt64(InterfaceNames.absentIndex)).contains(index) else { return nil }
                scope = UInt32(index)
            } else {
                guard let number = InterfaceNames.number(of: zone) else { return nil }
                scope = number
            }
            address = address[..<percent]
        }
        guard let octets = Self.parse(String(address)) else { return nil }
        self.init(octets: octets, port: port, scope: scope)
    }

    /// `192.0.2.1:53` or `[2001:db8::1]:53`.
    public var description: String {
        isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Address without port, in the format of RFC 5952.
    package var host: String {
        let octets = octets
        guard isIPv6 else { return "\(octets[0]).\(octets[1]).\(octets[2]).\(octets[3])" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        // SAFETY: inet_ntop reads 16 octets and terminates `text`.
        unsafe inet_ntop(
            AF_INET6,
            octets,
            &text,
            socklen_t(INET6_ADDRSTRLEN)
        )
        let end = text.firstIndex(of: 0) ?? text.count
        let address = String(
            decoding: text[..<end].map { UInt8(bitPattern: $0) },
            as: Unicode.UTF8.self
        )
        return scope == 0 ? address : "\(address)%\(interfaceName ?? "\(scope)")"
    }

    private static func port(_ text: Substring) -> UInt16? {
        text.allSatisfy { $0.isASCII && $0.isNumber } ? UInt16(text) : nil
    }

    private static func parse(_ text: String) -> [UInt8]? {
        // SAFETY: inet_pton writes 4 or 16 octets into arrays of that size.
        var v4 = [UInt8](repeating: 0, count: 4)
        if unsafe inet_pton(AF_INET, text, &v4) == 1 { return v4 }
        var v6 = [UInt8](repeating: 0, count: 16)
        return unsafe inet_pton(AF_INET6, text, &v6) == 1 ? v6 : nil
    }
}

// MARK: - The kernel's form

extension SocketAddress {
    /// Calls `body` with a `sockaddr` that has the present interface index.
    package func withSockaddr<Result, Failure: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var storage = sockaddr_storage()
        let length = write(to: &storage)
        // SAFETY: sockaddr_storage may be read as any sockaddr, and outlives the call.
        let result = unsafe withUnsafePointer(to: &storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Swift.Result<Result, Failure> { () throws(Failure) in
                    unsafe try body(pointer, length)
                }
            }
        }
        return try result.get()
    }

    package func write(to storage: inout sockaddr_storage) -> socklen_t {
        // SAFETY: both address types fit in sockaddr_storage; `octets` has the size of `sin6_addr`.
        unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            let raw = UnsafeMutableRawPointer(pointer)
            if isIPv6 {
                let inet = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self)
                unsafe inet.pointee = sockaddr_in6()
                unsafe inet.pointee.sin6_family = sa_family_t(AF_INET6)
                unsafe inet.pointee.sin6_port = port.bigEndian
                unsafe inet.pointee.sin6_scope_id = interfaceIndex
                unsafe withUnsafeMutableBytes(of: &inet.pointee.sin6_addr) {
                    unsafe $0.copyBytes(from: octets)
                }
                return socklen_t(MemoryLayout<sockaddr_in6>.size)
            }
            var inet = sockaddr_in()
            inet.sin_family = sa_family_t(AF_INET)
            inet.sin_port = port.bigEndian
            inet.sin_addr.s_addr = UInt32(truncatingIfNeeded: high >> 32).bigEndian
            unsafe raw.storeBytes(of: inet, as: sockaddr_in.self)
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        }
    }

    package init?(_ storage: sockaddr_storage) {
        var storage = storage
        // SAFETY: the family says which of the two types the kernel wrote.
        let made: Self? = unsafe withUnsafePointer(to: &storage) { pointer in
            let raw = unsafe UnsafeRawPointer(pointer)
            switch unsafe Int32(pointer.pointee.ss_family) {
            case AF_INET:
                let inet = unsafe raw.load(as: sockaddr_in.self)
                let address = UInt32(bigEndian: inet.sin_addr.s_addr)
                return Self(v4: address, port: UInt16(bigEndian: inet.sin_port))
            case AF_INET6:
                var inet = unsafe raw.load(as: sockaddr_in6.self)
                let octets = unsafe withUnsafeBytes(of: &inet.sin6_addr) { unsafe [UInt8]($0) }
                let port = UInt16(bigEndian: inet.sin6_port)
                return Self(octets: octets, port: port, scope: inet.sin6_scope_id)
            default:
                return nil
            }
        }
        guard let made else { return nil }
        self = made
    }
}
