// SPDX-License-Identifier: Apache-2.0

/// The names a builder has written, for later ones to point at (RFC 1035 §4.1.4).
///
/// Invariant: each entry is where a label of an already finished name starts, below 0x4000, by
/// rising offset; there are at most ``WireLimits/compressionTargets``.  So a pointer always leads
/// before the name it ends, and forgetting what was written last is cutting off the end.
///
/// The work per name is bounded: an entry is compared only with the one suffix of its own length.
struct NameCompressor {
    /// A name, or the end of one, in the message.
    private struct Target {
        /// Where its first label is.
        var offset: UInt16
        /// How many octets it has uncompressed, 2...255.
        var octets: UInt8
    }

    /// What can be pointed at.
    private var targets: [Target] = []

    /// How many names can be pointed at.
    var count: Int { targets.count }
}

// MARK: - Reading

extension NameCompressor {
    /// Finds the longest end of `name` that is in `message` already.
    ///
    /// - Returns: how many octets of the name stand before that end, and where it is.
    func match(_ name: [UInt8], in message: [UInt8]) -> (prefix: Int, offset: UInt16)? {
        var position = 0
        while name[position] != 0 {
            let octets = name.count - position
            for target in targets
            where Int(target.octets) == octets
                && Self.isEqual(name, from: position, message, at: Int(target.offset))
            {
                return (position, target.offset)
            }
            position += Int(name[position]) + 1
        }
        return nil
    }

    /// Whether the end of `name` from `position` is, but for case, the name at `offset`.
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
            where name[position + index].folded != message[offset + index].folded {
                return false
            }
            position += count + 1
            offset += count + 1
        }
    }
}

// MARK: - Changing

extension NameCompressor {
    /// Remembers the first `prefix` octets of `name`, whole labels, written at `offset`.
    mutating func remember(_ name: [UInt8], prefix: Int, at offset: Int) {
        if targets.isEmpty { targets.reserveCapacity(8) }
        var position = 0
        while position < prefix, name[position] != 0 {
            guard offset + position < WireLimits.pointerTargets,
                targets.count < WireLimits.compressionTargets
            else { return }
            targets.append(
                Target(offset: UInt16(offset + position), octets: UInt8(name.count - position))
            )
            position += Int(name[position]) + 1
        }
    }

    /// Forgets all but the first `count` names.
    mutating func forget(keeping count: Int) {
        targets.removeLast(targets.count - count)
    }
}
