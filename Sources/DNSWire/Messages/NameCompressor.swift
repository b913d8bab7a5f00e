// SPDX-License-Identifier: Apache-2.0

/// Targets of compression pointers in a message (RFC 1035 §4.1.4).
///
/// Invariant: targets are ascending offsets below 0x4000, at which a label of an encoded name
/// begins.
struct NameCompressor {
    private struct Target {
        var offset: UInt16
        var octets: UInt8
        var previous: UInt8
    }

    private var targets: [Target] = []

    private var newest = InlineArray<256, UInt8>(repeating: 0)
}

// MARK: - Reading

extension NameCompressor {
    /// Maximum targets that one search compares for each length of a suffix.
    ///
    /// Without this limit, a server could choose names for which each search compares all targets.
    private static let comparisons = 16

    /// Finds the longest suffix of `name` that has a target; `prefix` counts the octets before it.
    func match(_ name: [UInt8], in message: [UInt8]) -> (prefix: Int, offset: UInt16)? {
        var position = 0
        while name[position] != 0 {
            var next = newest[name.count - position]
            var left = Self.comparisons
            while next > 0, left > 0 {
                left -= 1
                let target = targets[Int(next) - 1]
                if Self.isEqual(name, from: position, message, at: Int(target.offset)) {
                    return (position, target.offset)
                }
                next = target.previous
            }
            position += Int(name[position]) + 1
        }
        return nil
    }

    private static func isEqual(
        _ name: [UInt8],
        from position: Int,
        _ message: [UInt8],
        at offset: Int
    ) -> Bool {
        var position = position
        var offset = offset
        while true {
            if message[offset] >= 0xC0 {
                offset = Int(message[offset] & 0x3F) << 8 | Int(message[offset + 1])
                continue
            }
            let count = Int(message[offset])
            guard Int(name[position]) == count else { return false }
            guard count > 0 else { return true }
            for index in 1...count
            where name[position + index].folded != message[offset + index].folded { return false }
            position += count + 1
            offset += count + 1
        }
    }
}

// MARK: - Changing

extension NameCompressor {
    mutating func remember(_ name: [UInt8], prefix: Int, at offset: Int) {
        if targets.isEmpty { targets.reserveCapacity(8) }
        var position = 0
        while position < prefix, name[position] != 0 {
            guard offset + position < WireLimits.pointerTargets,
                targets.count < WireLimits.compressionTargets
            else { return }
            let octets = UInt8(name.count - position)
            targets.append(
                Target(
                    offset: UInt16(offset + position),
                    octets: octets,
                    previous: newest[Int(octets)]
                )
            )
            newest[Int(octets)] = UInt8(targets.count)
            position += Int(name[position]) + 1
        }
    }
}
