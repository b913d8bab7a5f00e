// SPDX-License-Identifier: Apache-2.0
import COpenSSL

package struct FixtureError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

enum Hexadecimals {
    static func text(of octets: [UInt8]) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func read(_ text: String) throws -> [UInt8] {
        let digits = Array(text)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            guard index + 1 < digits.count,
                let octet = UInt8(String(digits[index...index + 1]), radix: 16)
            else { throw FixtureError("`\(text)` is not hexadecimal") }
            return octet
        }
    }
}

/// HMAC with SHA-256 (RFC 2104).
enum HMAC {
    static func sha256(key: [UInt8], _ text: String) throws -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count = 0
        let octets = [UInt8](text.utf8)
        guard
            EVP_Q_mac(
                nil,
                "HMAC",
                nil,
                "SHA256",
                nil,
                key,
                key.count,
                octets,
                octets.count,
                &code,
                code.count,
                &count
            ) != nil, count == code.count
        else { throw FixtureError("OpenSSL has no HMAC-SHA256") }
        return code
    }
}
