// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Filter of the addresses in an upstream's answer.
struct AddressFilter {
    /// Source of the address hints in an SVCB or HTTPS record.
    enum Hints {
        case theirs

        /// Addresses from the cache or the static hosts, valid for `seconds`; if there are none,
        /// the hints are removed.
        case ours([IPAddress], seconds: UInt32)
    }

    var guards: Bool

    /// Address types of the hints that are removed from SVCB and HTTPS records.
    var suppressed: Set<RecordType>

    private let prefixes: [NAT64Prefix]

    private let hints: (_ target: Name, _ mayReplace: Bool) -> Hints
    private var hintsByTarget: [Name: Hints] = [:]

    private var replacements = 0

    /// Maximum number of records with replaced hints; further records lose their hints.
    ///
    /// A reply of 64 KiB can contain 2,700 records with hints.
    static let mostReplacements = 64

    fileprivate static let mostHints = 16

    private(set) var records: [Record] = []

    private(set) var hasChanged = false

    private(set) var dropped = 0

    /// Seconds for which the inserted hints are valid; `.max` if the filter inserted no hints.
    private(set) var lifetime = UInt32.max

    init(
        guards: Bool,
        suppressed: Set<RecordType>,
        prefixes: [NAT64Prefix],
        hints: @escaping (_ target: Name, _ mayReplace: Bool) -> Hints
    ) {
        self.guards = guards
        self.suppressed = suppressed
        self.prefixes = prefixes
        self.hints = hints
    }

    mutating func shape(_ answers: [Record]) {
        for record in answers {
            switch record.data {
            case .a, .aaaa: keepAddress(record)
            case .svcb(let binding): keep(record, binding)
            default: records.append(record)
            }
        }
        guard lifetime < .max else { return }
        for index in records.indices
        where records[index].type.isServiceBinding && records[index].ttl > lifetime {
            // The hints are now addresses of `Hints.ours`, so the TTL must not exceed the TTL of
            // these addresses.
            records[index].ttl = lifetime
            hasChanged = true
        }
    }

    private mutating func keepAddress(_ record: Record) {
        if guards, let address = record.data.address, !isGlobal(address) {
            dropped += 1
            hasChanged = true
        } else {
            records.append(record)
        }
    }

    private func isGlobal(_ address: IPAddress) -> Bool {
        address.reach(through: prefixes) == .global
    }

    /// Adds `record`, with filtered address hints, to ``records``.
    private mutating func keep(_ record: Record, _ binding: ServiceBinding) {
        var shaped = binding
        if binding.isAlias {
            // Clients must ignore parameters in alias mode (RFC 9460 §2.4.2), but some may not.
            shaped.remove(.ipv4Hint)
            shaped.remove(.ipv6Hint)
        } else {
            filterHints(of: &shaped, record)
        }
        guard shaped != binding else {
            records.append(record)
            return
        }
        hasChanged = true
        records.append(
            Record(
                name: record.name,
                type: record.type,
                recordClass: record.recordClass,
                ttl: record.ttl,
                data: .svcb(shaped)
            )
        )
    }

    private mutating func filterHints(of binding: inout ServiceBinding, _ record: Record) {
        let target = binding.target.isRoot ? record.name : binding.target
        let mayReplace = replacements < Self.mostReplacements
        let hints = hintsByTarget[target] ?? hints(target, mayReplace)
        hintsByTarget[target] = hints
        if case .ours = hints { replacements += 1 }
        for key in [ServiceKey.ipv4Hint, .ipv6Hint] where binding.value(of: key) != nil {
            let isSuppressed = suppressed.contains(key == .ipv6Hint ? .aaaa : .a)
            switch hints {
            case .theirs where isSuppressed:
                binding.remove(key)
            case .theirs where guards:
                dropInside(of: &binding, key)
            case .theirs:
                break
            case .ours(let addresses, let seconds):
                let permitted = isSuppressed || !mayReplace ? [] : addresses
                binding.setHint(key, permitted, most: Self.mostHints)
                if binding.value(of: key) != nil { lifetime = min(lifetime, seconds) }
            }
        }
    }

    private mutating func dropInside(of binding: inout ServiceBinding, _ key: ServiceKey) {
        guard let addresses = binding.addresses(of: key) else {
            binding.remove(key)
            return
        }
        let kept = addresses.filter(isGlobal)
        guard kept.count < addresses.count else { return }
        dropped += addresses.count - kept.count
        binding.setHint(key, kept, most: Self.mostHints)
    }
}
