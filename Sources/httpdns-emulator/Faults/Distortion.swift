// SPDX-License-Identifier: Apache-2.0

/// Faults inside an answer, which only the vendor's code can make, as it alone knows the format.
struct Distortion: Sendable, Equatable {
    /// Each address becomes the unspecified one of its family.
    var zeroAddress = false
    /// Each TTL becomes this text.
    var ttl: String?
    /// Each echoed name becomes this one.
    var wrongName: String?
    /// Encrypted with a key nobody has.
    var wrongKey = false
    /// Encrypted with padding no decryption accepts.
    var badPadding = false

    /// The addresses of an answer, as they are to be sent.
    func addresses(_ answer: Zone.Answer, _ family: Family) -> [String] {
        guard zeroAddress else { return answer.addresses }
        return answer.addresses.map { _ in family == .v4 ? "0.0.0.0" : "::" }
    }

    /// A TTL in JSON: the fault's text is a number if it looks like one, else a string.
    func json(ttl honest: Int) -> JSONText {
        guard let ttl else { return .number(String(honest)) }
        return Double(ttl) == nil ? .string(ttl) : .number(ttl)
    }

    /// An encrypted message, as the faults want it.
    func seal(
        _ text: [UInt8],
        _ cipher: Cipher,
        key honest: [UInt8]
    ) throws(Cipher.Failure) -> [UInt8] {
        let key = wrongKey ? honest.map { $0 ^ 0x5A } : honest
        guard badPadding else { return try cipher.seal(text, key: key) }
        guard cipher != .gcm else {
            // No padding to spoil, but a tag.
            var sealed = try cipher.seal(text, key: key)
            sealed[sealed.count - 1] ^= 0xFF
            return sealed
        }
        // Zeros to the end of the block and one block more: the last octet says 0.
        let block = cipher.blockOctets
        let zeros = [UInt8](repeating: 0, count: 2 * block - text.count % block)
        return try cipher.seal(text + zeros, key: key, padded: false)
    }
}

/// What the faults that fired do to a call, gathered.
struct Damage: Sendable {
    /// To the answer's text.
    var distortion = Distortion()
    /// The vendor's own error that replaces the answer.
    private(set) var error: String?
    /// To the response and the connection, in the order of the plan.
    private var later: [Fault.Kind] = []

    /// Sorts faults by whom they concern.
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

    /// The reply to send for a response.
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
                // Never text nor hex: the top bit is set, and 0xFF is in no UTF-8.
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
                break  // In the answer already.
            }
        }
        return reply
    }
}

/// Gzip without compressing: a valid stream needs no more (RFC 1951 §3.2.4, RFC 1952 §2.3).
enum Gzip {
    /// A gzip member that decompresses to the octets.
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

    /// CRC-32 (RFC 1952 §8), bit by bit: answers are short.
    private static func checksum(_ octets: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for octet in octets {
            sum ^= UInt32(octet)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// The octets of a number, least significant first.
    private static func littleEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8]
    {
        (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
