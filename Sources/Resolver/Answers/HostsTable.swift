// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Static hosts: names and addresses from hosts files and settings.
package struct HostsTable: Sendable, Equatable {
    /// Maximum number of names; some block lists have a million names.
    package static let mostNames = 200_000

    /// Maximum number of addresses of all names together; a full table uses up to 90 MiB.
    package static let mostEntries = 400_000

    /// Maximum number of addresses per name, because the answer must fit into a message.
    package static let mostAddresses = 256

    /// Addresses by name, in the order of the hosts files and settings.
    private var addresses: [Name: [IPAddress]] = [:]

    /// First name of each address, for PTR answers; no key is an IPv4-mapped IPv6 address.
    private var pointers: [IPAddress: Name] = [:]

    /// Names to which hosts files cannot add addresses.
    private var fixed: Set<Name> = []

    /// Set of the lengths of all names, modulo 64: one bit for each length.
    private(set) var lengths: UInt64 = 0

    private var entries = 0

    package private(set) var leftOut = 0

    package init() {}

    package init(extending other: HostsTable) {
        self = other
        leftOut = 0
    }

    /// Creates a table of the settings, which override hosts files.
    package init(records: [(name: Name, addresses: [IPAddress])]) {
        for record in records {
            for address in record.addresses { add(address, names: [record.name]) }
        }
        fixed = Set(addresses.keys)
    }
}

// MARK: - Filling

extension HostsTable {
    /// Adds a line of a hosts file: an address, its canonical name and its aliases.
    ///
    /// `localhost` and names below `localhost` are ignored (RFC 6761 §6.3).
    package mutating func add(_ address: IPAddress, names: [Name]) {
        for name in names where !name.isEqualOrBelow(.localhost) && !fixed.contains(name) {
            add(address, to: name)
        }
        guard let own = names.first, address.hasPointer,
            addresses[own]?.contains(address) ?? false
        else { return }
        if pointers[address.unmapped] == nil {
            pointers[address.unmapped] = own
            lengths |= Self.bit(of: Name(reverseOf: address))
        }
    }

    private mutating func add(_ address: IPAddress, to name: Name) {
        let known = addresses[name] ?? []
        guard !known.contains(address) else { return }
        guard known.count < Self.mostAddresses, entries < Self.mostEntries,
            !known.isEmpty || addresses.count < Self.mostNames
        else {
            leftOut += 1
            return
        }
        addresses[name, default: []].append(address)
        entries += 1
        lengths |= Self.bit(of: name)
    }

    static func bit(of name: Name) -> UInt64 { 1 << UInt64(name.octets.count & 63) }
}

extension IPAddress {
    /// False for 0.0.0.0, 127.0.0.1, `::` and `::1`: block lists map all their names to these
    /// addresses.
    fileprivate var hasPointer: Bool {
        switch unmapped {
        case .v4(let address): !address.isUnspecified && address.value != 0x7F00_0001
        case .v6(let address): !address.isUnspecified && !address.isLoopback
        }
    }
}

// MARK: - Reading

extension HostsTable {
    package var count: Int { addresses.count }

    package var reachedLimit: String? {
        if addresses.count >= Self.mostNames { return "\(Self.mostNames) names" }
        return entries >= Self.mostEntries ? "\(Self.mostEntries) addresses" : nil
    }

    func addresses(of name: Name) -> [IPAddress]? { addresses[name] }

    func pointer(_ name: Name) -> Name? { name.reversedAddress.flatMap { pointers[$0] } }

    func contains(_ name: Name) -> Bool {
        hasLength(of: name) && (addresses[name] != nil || pointer(name) != nil)
    }

    private func hasLength(of name: Name) -> Bool { lengths & Self.bit(of: name) != 0 }

    /// True if the table determines the answer to `question`: addresses, a name or NODATA.
    ///
    /// Also true for SVCB and HTTPS queries, because the address hints in these records could
    /// contradict the table (RFC 9460 §7.3).
    func covers(_ question: Question) -> Bool {
        guard !addresses.isEmpty, hasLength(of: question.name) else { return false }
        return switch question.type {
        case .a, .aaaa, .https, .svcb: addresses[question.name] != nil
        case .ptr: pointer(question.name) != nil
        default: false
        }
    }
}
