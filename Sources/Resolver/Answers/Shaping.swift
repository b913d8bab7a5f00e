// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// What the records of an upstream's answer become: a pure function of them and of what is known.
struct Shaping {
    /// Where the addresses in a SVCB or HTTPS record come from.
    enum Hints {
        /// From the record itself.
        case theirs

        /// From this daemon, which knows some of the target, or none; for so many seconds.
        case ours([IPAddress], seconds: UInt32)
    }

    /// Whether private addresses are dropped.
    var guards: Bool

    /// Whether IPv6 addresses are dropped.
    var suppressesAAAA: Bool

    /// What the hints of a record about `target` are.
    var hints: (_ target: Name) -> Hints

    /// The records that are left.
    private(set) var records: [Record] = []

    /// Whether they are others than there were.
    private(set) var hasChanged = false

    /// Private addresses that were dropped.
    private(set) var dropped = 0

    /// Seconds after which they may be wrong, if that is sooner than their TTLs say.
    private(set) var lifetime = UInt32.max

    /// Makes a function without a result yet.
    init(guards: Bool, suppressesAAAA: Bool, hints: @escaping (_ target: Name) -> Hints) {
        self.guards = guards
        self.suppressesAAAA = suppressesAAAA
        self.hints = hints
    }

    /// Looks at the records of an answer.
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
            // Even hints that are right already are ours from now on, and so is their time.
            records[index].ttl = lifetime
            hasChanged = true
        }
    }

    /// Keeps an address record unless its address must not be told.
    private mutating func keepAddress(_ record: Record) {
        if guards, let address = record.data.address, address.reach != .global {
            dropped += 1
            hasChanged = true
        } else {
            records.append(record)
        }
    }

    /// Keeps a record with the hints that it may have.
    ///
    /// An alias has no parameters that anybody may heed (RFC 9460 §2.4.2).
    private mutating func keep(_ record: Record, _ binding: ServiceBinding) {
        guard !binding.isAlias else {
            records.append(record)
            return
        }
        var shaped = binding
        let target = binding.target.isRoot ? record.name : binding.target
        let hints = hints(target)
        for key in [ServiceKey.ipv4Hint, .ipv6Hint] where binding.value(of: key) != nil {
            switch hints {
            case .theirs where key == .ipv6Hint && suppressesAAAA:
                shaped.remove(key)
            case .theirs where guards:
                dropInside(of: &shaped, key)
            case .theirs:
                break
            case .ours(let addresses, let seconds):
                let family = key == .ipv6Hint && suppressesAAAA ? [] : addresses
                shaped.setHint(key, family)
                if shaped.value(of: key) != nil { lifetime = min(lifetime, seconds) }
            }
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

    /// Drops private addresses from a hint, and a hint that cannot be read.
    private mutating func dropInside(of binding: inout ServiceBinding, _ key: ServiceKey) {
        let addresses: [IPAddress]? =
            key == .ipv4Hint
            ? binding.ipv4Hint?.map(IPAddress.v4) : binding.ipv6Hint?.map(IPAddress.v6)
        guard let addresses else {
            binding.remove(key)
            return
        }
        let kept = addresses.filter { $0.reach == .global }
        guard kept.count < addresses.count else { return }
        dropped += addresses.count - kept.count
        binding.setHint(key, kept)
    }
}

extension ServiceBinding {
    /// Replaces the hint of one family by those of `addresses` that are of it, or removes it.
    fileprivate mutating func setHint(_ key: ServiceKey, _ addresses: [IPAddress]) {
        if key == .ipv4Hint {
            setIPv4Hint(
                addresses.compactMap { if case .v4(let address) = $0 { address } else { nil } }
            )
        } else {
            setIPv6Hint(
                addresses.compactMap { if case .v6(let address) = $0 { address } else { nil } }
            )
        }
    }
}
