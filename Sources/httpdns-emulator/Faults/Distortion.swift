// SPDX-License-Identifier: Apache-2.0

/// Faults in the records or encryption of an answer, applied before encoding.
struct Distortion: Sendable, Equatable {
    var zeroAddress = false
    var ttl: String?
    var wrongName: String?
    var wrongKey = false
    var badPadding = false

    func addresses(_ answer: Zone.Answer, _ family: Family) -> [String] {
        guard zeroAddress else { return answer.addresses }
        return answer.addresses.map { _ in family == .v4 ? "0.0.0.0" : "::" }
    }

    func json(ttl honest: Int) -> JSONText {
        guard let ttl else { return .number(String(honest)) }
        return Double(ttl) == nil ? .string(ttl) : .number(ttl)
    }

    func seal(
        _ text: [UInt8],
        _ cipher: Cipher,
        key honest: [UInt8]
    ) throws(Cipher.Failure) -> [UInt8] {
        let key = wrongKey ? honest.map { $0 ^ 0x5A } : honest
        guard badPadding else { return try cipher.seal(text, key: key) }
        guard cipher != .gcm else {
            // GCM has no padding, so the fault damages the tag.
            var sealed = try cipher.seal(text, key: key)
            sealed[sealed.count - 1] ^= 0xFF
            return sealed
        }
        // The padding has two faults: it consists of zeros, which PKCS#7 does not permit, and it is
        // one block too long.
        let block = cipher.blockOctets
        let zeros = [UInt8](repeating: 0, count: 2 * block - text.count % block)
        return try cipher.seal(text + zeros, key: key, padded: false)
    }
}

struct Damage: Sendable {
    var distortion = Distortion()
    private(set) var error: String?
    /// Faults of the encoded response and the connection, in the order in which they apply.
    private var later: [Fault.Kind] = []

    init(_ kinds: [Fault.Kind]) {
        for kind in kinds {
            switch kind {
            case .zeroAddress: distortion.zeroAddress = true
            case .ttl(let text): distortion.ttl = text
            case .wrongName(let name): distortion.wrongName = name
            case .wrongKey: distortion.wrongKey = true
            case .badPadding: distortion.badPadding = true
            case .error(let code): error = code
            default: later.append(kind)
            }
        }
    }

    func applied(to response: Response) -> Reply {
        var reply = Reply(response: response)
        for kind in later {
            switch kind {
            case .delay(let milliseconds): reply.delay += .milliseconds(milliseconds)
            case .silent: reply.delivery = .silence
            case .reset: reply.delivery = .reset
            case .close: reply.delivery = .close
            case .noise: reply.delivery = .noise
            case .truncated(let after): reply.delivery = .truncated(after: after)
            case .huge(let octets): reply.delivery = .filled(to: octets)
            case .empty: reply.response.body = []
            case .garbage:
                reply.response.body = [0xFF] + (0..<63).map { _ in .random(in: 0x80...0xFF) }
            case .gzip:
                reply.response.body = Gzip.wrap(reply.response.body)
                reply.response.headers.append(("Content-Encoding", "gzip"))
            case .status(let code, let retryAfter):
                reply.response = Response(status: code)
                if let retryAfter {
                    reply.response.headers.append(("Retry-After", String(retryAfter)))
                }
            case .redirect(let url):
                reply.response = Response(status: 302)
                reply.response.headers.append(("Location", url))
            case .zeroAddress, .ttl, .wrongName, .wrongKey, .badPadding, .error:
                break  // The vendor has already applied these faults to the answer.
            }
        }
        return reply
    }
}

/// Gzip encoding without compression (RFC 1951 §3.2.4, RFC 1952 §2.3).
enum Gzip {
    static func wrap(_ octets: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        let most = Int(UInt16.max)
        var start = 0
        repeat {
            let block = octets[start..<min(start + most, octets.count)]
            start += block.count
            stream.append(start == octets.count ? 1 : 0)
            stream += littleEndian(UInt16(block.count)) + littleEndian(~UInt16(block.count))
            stream += block
        } while start < octets.count
        return stream + littleEndian(checksum(octets))
            + littleEndian(UInt32(truncatingIfNeeded: octets.count))
    }

    /// CRC-32 (RFC 1952 §8).
    private static func checksum(_ octets: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for octet in octets {
            sum ^= UInt32(octet)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    private static func littleEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8]
    { (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
}
