// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Names and addresses that the operator has written down: what hosts files and settings say.
///
/// A value, so that a whole table takes the place of another at once.  Its size is bounded: some
/// hosts files are lists of a million names that somebody does not want to reach.
package struct HostsTable: Sendable, Equatable {
    /// Names that a table has at most: some 30 MB.
    package static let mostNames = 200_000

    /// Addresses that a name has at most; more would not fit a message.
    package static let mostAddresses = 256

    /// The addresses of each name, in the order in which they came.
    private var addresses: [Name: [IPAddress]] = [:]

    /// What the names of reverse look-ups point to: the first name of each address.
    private var pointers: [Name: Name] = [:]

    /// Names whose addresses the settings say, whatever files say.
    private var fixed: Set<Name> = []

    /// Names and addresses that were left out for want of room.
    package private(set) var leftOut = 0

    /// An empty table.
    package init() {}

    /// A table that begins with what the settings say; it holds against files.
    package init(records: [(name: Name, addresses: [IPAddress])]) {
        for record in records {
            for address in record.addresses { add(address, names: [record.name]) }
        }
        fixed = Set(addresses.keys)
    }
}

// MARK: - Filling

extension HostsTable {
    /// Adds a line of a hosts file: an address and its names, the first of which is its own.
    ///
    /// `localhost` and what is below it are left out: they are this machine's own, whatever a file
    /// says (RFC 6761 §6.3).
    package mutating func add(_ address: IPAddress, names: [Name]) {
        for name in names where !name.isEqualOrBelow(.localhost) && !fixed.contains(name) {
            add(address, to: name)
        }
        guard let own = names.first, address.hasPointer,
            addresses[own]?.contains(address) ?? false
        else { return }
        let reverse = Name(reverseOf: address)
        if pointers[reverse] == nil { pointers[reverse] = own }
    }

    private mutating func add(_ address: IPAddress, to name: Name) {
        let known = addresses[name] ?? []
        guard !known.contains(address) else { return }
        guard known.count < Self.mostAddresses, !known.isEmpty || addresses.count < Self.mostNames
        else {
            leftOut += 1
            return
        }
        addresses[name, default: []].append(address)
    }
}

extension IPAddress {
    /// Whether a hosts file says what the address is called.
    ///
    /// Not of the addresses that lists of unwanted names give to all of them.
    fileprivate var hasPointer: Bool {
        switch unmapped {
        case .v4(let address): !address.isUnspecified && address.value != 0x7F00_0001
        case .v6(let address): !address.isUnspecified && !address.isLoopback
        }
    }
}

// MARK: - Reading

extension HostsTable {
    /// Whether nothing is written down.
    var isEmpty: Bool { addresses.isEmpty }

    /// How many names it has addresses of.
    package var count: Int { addresses.count }

    /// The addresses of `name` of either family; nil if the table does not have it.
    func addresses(of name: Name) -> [IPAddress]? { addresses[name] }

    /// What the name of a reverse look-up points to.
    func pointer(_ name: Name) -> Name? { pointers[name] }

    /// Whether `name` is known here, be it by its addresses or as that of one.
    func contains(_ name: Name) -> Bool { addresses[name] != nil || pointers[name] != nil }

    /// Whether the answer to `question` is the table's to give, even if it is that there is none.
    ///
    /// Addresses hide in SVCB and HTTPS records, too: were those of a name that is written down here
    /// somebody else's, clients would go there (RFC 9460 §7.3).
    func covers(_ question: Question) -> Bool {
        guard !addresses.isEmpty else { return false }
        return switch question.type {
        case .a, .aaaa, .https, .svcb: addresses[question.name] != nil
        case .ptr: pointers[question.name] != nil
        default: false
        }
    }
}
