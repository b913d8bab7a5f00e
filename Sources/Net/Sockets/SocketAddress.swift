// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// IPv4 or IPv6 address and port.
///
/// Parses address literals only, because resolving a name would query this daemon.
package struct SocketAddress: Sendable, Hashable {
    /// Address in network byte order: 4 or 16 octets.
    package let octets: [UInt8]

    package var port: UInt16

    /// Interface index of a link-local IPv6 address, otherwise 0.
    package let scope: UInt32

    /// Index of the interface for all packets to this address; 0 to follow the routing table.
    ///
    /// Needed for servers of a VPN, because another network could add a route to the same address,
    /// for example by DHCP.
    package var link: UInt32 = 0

    package init?(octets: [UInt8], port: UInt16, scope: UInt32 = 0) {
        guard octets.count == 4 || octets.count == 16 else { return nil }
        self.octets = octets
        self.port = port
        self.scope = scope
    }

    package var isIPv6: Bool { octets.count == 16 }

    package var isUnspecified: Bool { octets.allSatisfy { $0 == 0 } }
}

// MARK: - Text

extension SocketAddress: CustomStringConvertible {
    /// Parses `192.0.2.1:53`, `[2001:db8::1]:53` or, with a default port, an address alone.
    ///
    /// Port 0 means any port.
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
            // SAFETY: the interface name ends with NUL and lives during the call.
            scope = unsafe UInt32(zone) ?? if_nametoindex(zone)
            guard scope != 0 else { return nil }
            address = address[..<percent]
        }
        guard let octets = Self.parse(String(address)) else { return nil }
        self.octets = octets
        self.port = port
        self.scope = scope
    }

    package var description: String {
        isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Address without port, in the format of RFC 5952.
    package var host: String {
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
        return scope == 0 ? address : "\(address)%\(scope)"
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
        // SAFETY: both address types fit in sockaddr_storage; the copied count is the field's size.
        unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            let raw = UnsafeMutableRawPointer(pointer)
            if isIPv6 {
                let inet = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self)
                unsafe inet.pointee = sockaddr_in6()
                unsafe inet.pointee.sin6_family = sa_family_t(AF_INET6)
                unsafe inet.pointee.sin6_port = port.bigEndian
                unsafe inet.pointee.sin6_scope_id = scope
                unsafe withUnsafeMutableBytes(of: &inet.pointee.sin6_addr) {
                    unsafe $0.copyBytes(from: octets)
                }
                return socklen_t(MemoryLayout<sockaddr_in6>.size)
            }
            let inet = unsafe raw.assumingMemoryBound(to: sockaddr_in.self)
            unsafe inet.pointee = sockaddr_in()
            unsafe inet.pointee.sin_family = sa_family_t(AF_INET)
            unsafe inet.pointee.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &inet.pointee.sin_addr) {
                unsafe $0.copyBytes(from: octets)
            }
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        }
    }

    package init?(_ storage: sockaddr_storage) {
        var storage = storage
        // SAFETY: the family says which of the two types the kernel wrote.
        let parts: ([UInt8], UInt16, UInt32)? = unsafe withUnsafePointer(to: &storage) { pointer in
            let raw = unsafe UnsafeRawPointer(pointer)
            switch unsafe Int32(pointer.pointee.ss_family) {
            case AF_INET:
                var inet = unsafe raw.load(as: sockaddr_in.self)
                let octets = unsafe withUnsafeBytes(of: &inet.sin_addr) { unsafe [UInt8]($0) }
                return (octets, UInt16(bigEndian: inet.sin_port), 0)
            case AF_INET6:
                var inet = unsafe raw.load(as: sockaddr_in6.self)
                let octets = unsafe withUnsafeBytes(of: &inet.sin6_addr) { unsafe [UInt8]($0) }
                return (octets, UInt16(bigEndian: inet.sin6_port), inet.sin6_scope_id)
            default:
                return nil
            }
        }
        guard let parts else { return nil }
        self.init(octets: parts.0, port: parts.1, scope: parts.2)
    }
}
