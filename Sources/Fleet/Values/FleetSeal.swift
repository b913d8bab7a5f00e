// SPDX-License-Identifier: Apache-2.0

/// Reason why a value or a message is ignored.
package enum FleetRejection: String, Error, Hashable, CaseIterable {
    case tooLong = "too-long"

    case unknownVersion = "unknown-version"

    /// The tag is wrong: the sender used another secret or context, or the ciphertext was changed.
    case forged

    /// The content is authentic, but not a valid value or flush.
    case unreadable

    /// The time is ahead of the Redis clock.
    case fromFuture = "from-future"

    case flushed

    /// The value is older than a known value by more than ``FleetLimits/disorder``, or the flush is
    /// too old.
    case replayed
}

/// Authenticated encryption with the secret of the fleet, and derivation of keys from the secret.
///
/// HMAC-SHA256 is the only primitive: HMACs of the nonce and a counter are the key stream, and the
/// HMAC of nonce, ciphertext and context is the tag (encrypt-then-MAC).
package struct FleetSeal: Sendable {
    /// HMAC-SHA256 of a text with the secret of the fleet.
    package typealias Code = @Sendable ([UInt8]) -> [UInt8]

    /// Purpose of an HMAC; the raw value is the first octet of the HMAC's input.
    enum Purpose: UInt8 {
        case name = 1
        case stream, tag, members, machine, probe, usage
    }

    static let version: UInt8 = 1
    static let nonceOctets = 16
    static let tagOctets = 16
    private let code: Code
    package init(_ code: @escaping Code) { self.code = code }

    /// Returns the first `count` octets of the HMAC of `parts`, each preceded by its length.
    func digest(_ purpose: Purpose, _ parts: [[UInt8]], octets count: Int = 16) -> [UInt8] {
        var text = [purpose.rawValue]
        for part in parts {
            text += [UInt8(truncatingIfNeeded: part.count >> 8), UInt8(part.count & 0xFF)]
            text += part
        }
        return Array(code(text).prefix(count))
    }

    /// Returns the encrypted form of `text`: version, nonce, ciphertext, tag.
    ///
    /// - Parameter context: octets that the tag also covers, such as the key of a value.
    func seal(_ text: [UInt8], for context: [UInt8]) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<Self.nonceOctets).map { _ in
            UInt8.random(in: .min ... .max, using: &random)
        }
        let sealed = [Self.version] + nonce + crypted(text[...], nonce)
        return sealed + digest(.tag, [context, sealed], octets: Self.tagOctets)
    }

    func open(_ sealed: [UInt8], for context: [UInt8]) throws(FleetRejection) -> [UInt8] {
        guard sealed.count <= FleetLimits.valueOctets else { throw .tooLong }
        guard sealed.first == Self.version else { throw .unknownVersion }
        let start = 1 + Self.nonceOctets
        guard sealed.count >= start + Self.tagOctets else { throw .forged }
        let end = sealed.count - Self.tagOctets
        let tag = digest(.tag, [context, Array(sealed[..<end])], octets: Self.tagOctets)
        // Compares in constant time.
        let difference = zip(tag, sealed[end...]).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
        guard tag.count == Self.tagOctets, difference == 0 else { throw .forged }
        return crypted(sealed[start..<end], Array(sealed[1..<start]))
    }

    /// Encrypts or decrypts octets: XOR with the key stream of `nonce`.
    private func crypted(_ octets: ArraySlice<UInt8>, _ nonce: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        var rest = octets
        var block: UInt8 = 0
        while !rest.isEmpty {
            let stream = digest(.stream, [nonce, [block]], octets: 32)
            result += zip(rest, stream).map { $0 ^ $1 }
            rest = rest.dropFirst(32)
            block += 1
        }
        return result
    }
}
