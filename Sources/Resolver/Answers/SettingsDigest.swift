// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// FNV-1a digest (64 bits) of settings; every process computes the same digest.
///
/// FNV-1a does not resist deliberate collisions, but attackers cannot choose the settings.
struct SettingsDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds the octets, and then their count.
    mutating func add(_ octets: some Sequence<UInt8>) {
        var count: UInt64 = 0
        for octet in octets {
            absorb(octet)
            count += 1
        }
        add(count)
    }

    mutating func add(_ text: String) { add(text.utf8) }

    mutating func add(_ flag: Bool) { absorb(flag ? 1 : 0) }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            absorb(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    mutating func add(_ pattern: DomainPattern) {
        let kind: UInt64 =
            switch pattern {
            case .suffix: 0
            case .exact: 1
            case .below: 2
            }
        add(kind)
        add(pattern.domain.octets)
    }

    private mutating func absorb(_ octet: UInt8) {
        value = (value ^ UInt64(octet)) &* 0x100_0000_01B3
    }
}

extension SettingsDigest {
    package static func of(_ text: String) -> UInt64 {
        var digest = SettingsDigest()
        digest.add(text)
        return digest.value
    }
}
