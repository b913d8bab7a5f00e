// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Answer of a vendor, in the form that hosts share.
package struct FleetValue: Sendable, Hashable {
    package struct Addresses: Sendable, Hashable {
        package var addresses: [IPAddress]

        package var ttl: UInt32

        package init(_ addresses: [IPAddress], ttl: UInt32) {
            self.addresses = addresses
            self.ttl = ttl
        }
    }

    /// Time of the fetch by the Redis clock, in milliseconds since 1970.
    package var fetchedAt: Int64 = 0

    /// Nil if the vendor was not asked for that family.
    package var v4: Addresses?
    package var v6: Addresses?
    package var denial: Denial?

    /// Address of the vendor's server in 4 or 16 octets (0 octets if unknown), and the port.
    package var server: (address: [UInt8], port: UInt16) {
        get { (serverAddress, serverPort) }
        set { (serverAddress, serverPort) = newValue }
    }

    private var serverAddress: [UInt8] = []
    private var serverPort: UInt16 = 0

    package var machine = ""

    package init() {}

    /// TTL in seconds: the minimum of the families with addresses.
    ///
    /// For an answer without addresses: the negative TTL, at most ``FleetLimits/negativeSeconds``.
    package var ttl: UInt32 {
        let ttls = [v4, v6].compactMap { $0.flatMap { $0.addresses.isEmpty ? nil : $0.ttl } }
        return ttls.min() ?? min(denial?.ttl ?? .max, FleetLimits.negativeSeconds)
    }

    /// Returns the age in whole seconds, rounded up, at a time of the Redis clock.
    func age(at now: Int64) -> UInt32 { UInt32(clamping: (max(0, now - fetchedAt) + 999) / 1_000) }
}

// MARK: - Octets

extension FleetValue {
    private static let form: UInt8 = 1
    private static let maximumAddresses = 100

    /// Encoded value; nil if too large to share.
    var octets: [UInt8]? {
        guard [v4, v6].allSatisfy({ $0?.addresses.count ?? 0 <= Self.maximumAddresses }) else {
            return nil
        }
        var octets = [Self.form]
        octets.append(bigEndian: UInt64(bitPattern: fetchedAt))
        var flags: UInt8 = v4 == nil ? 0 : 1
        flags |= v6 == nil ? 0 : 2
        flags |= denial.map { $0.kind == .nxDomain ? 4 : 8 } ?? 0
        flags |= denial?.ttl == nil ? 0 : 16
        octets.append(flags)
        for set in [v4, v6].compactMap(\.self) {
            octets.append(bigEndian: set.ttl)
            octets.append(UInt8(set.addresses.count))
            for address in set.addresses { octets += address.octets }
        }
        if let ttl = denial?.ttl { octets.append(bigEndian: ttl) }
        octets.append(UInt8(serverAddress.count))
        octets += serverAddress
        octets.append(bigEndian: serverPort)
        let machine = machine.utf8.prefix(FleetLimits.machineOctets)
        octets.append(UInt8(machine.count))
        return octets + machine
    }

    /// Decodes a value; throws if octets are invalid, missing or left over.
    package init(octets: [UInt8]) throws(FleetRejection) {
        var reader = OctetReader(octets)
        guard try reader.byte() == Self.form else { throw .unknownVersion }
        fetchedAt = try reader.time()
        let flags = try reader.byte()
        guard flags < 32, flags & 12 != 12, flags & 28 != 16 else { throw .unreadable }
        if flags & 1 != 0 { v4 = try reader.addresses(of: 4) }
        if flags & 2 != 0 { v6 = try reader.addresses(of: 16) }
        if flags & 12 != 0 {
            let ttl = flags & 16 == 0 ? nil : UInt32(clamping: try reader.number(4))
            denial = Denial(flags & 4 != 0 ? .nxDomain : .noData, ttl: ttl)
        }
        let count = Int(try reader.byte())
        guard [0, 4, 16].contains(count) else { throw .unreadable }
        serverAddress = try reader.octets(count)
        serverPort = UInt16(truncatingIfNeeded: try reader.number(2))
        let name = try reader.octets(Int(try reader.byte()))
        guard name.count <= FleetLimits.machineOctets, reader.isAtEnd else { throw .unreadable }
        machine = MachineName(String(decoding: name, as: UTF8.self)).text
    }
}

/// Name of a host of the fleet, with printable ASCII characters only and without a slash.
package struct MachineName: Sendable, Hashable {
    package let text: String

    package init(_ text: String) {
        let octets = text.utf8.prefix(FleetLimits.machineOctets).map { octet in
            (0x21...0x7E).contains(octet) && octet != UInt8(ascii: "/") ? octet : UInt8(ascii: "?")
        }
        self.text = String(decoding: octets, as: UTF8.self)
    }
}

/// Reader of the octets of a verified value or message.
struct OctetReader {
    private var rest: ArraySlice<UInt8>
    init(_ octets: [UInt8]) { rest = octets[...] }
    var isAtEnd: Bool { rest.isEmpty }

    mutating func octets(_ count: Int) throws(FleetRejection) -> [UInt8] {
        guard rest.count >= count else { throw .unreadable }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func byte() throws(FleetRejection) -> UInt8 { try octets(1)[0] }

    /// Reads an unsigned number of at most 8 octets in network byte order.
    mutating func number(_ count: Int) throws(FleetRejection) -> UInt64 {
        try octets(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a time in milliseconds since 1970; throws if the time is so large that sums overflow.
    mutating func time() throws(FleetRejection) -> Int64 {
        let time = try number(8)
        guard time < 1 << 62 else { throw .unreadable }
        return Int64(time)
    }

    mutating func addresses(of size: Int) throws(FleetRejection) -> FleetValue.Addresses {
        let ttl = UInt32(clamping: try number(4))
        var addresses: [IPAddress] = []
        for _ in 0..<(try byte()) {
            guard let address = IPAddress(octets: try octets(size)) else { throw .unreadable }
            addresses.append(address)
        }
        return FleetValue.Addresses(addresses, ttl: ttl)
    }
}
