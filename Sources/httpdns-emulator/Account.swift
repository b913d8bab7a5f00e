// SPDX-License-Identifier: Apache-2.0

/// The one account the emulated vendor knows, with documented defaults so that demos need none.
struct Account: Sendable, Equatable {
    /// The account's number, a positive 32-bit integer.
    var id = "12345"

    /// The key of the DES channel, 8 octets.
    var desKey = "testkey1"

    /// The key of the AES channel, 16 octets.
    var aesKey = "1234567890123456"

    /// The token of the HTTPS channel, an integer.
    var token = "987654321"

    /// Why an account cannot be used; the text names the field.
    struct Failure: Error, CustomStringConvertible {
        /// What is wrong.
        var description: String
    }

    /// Takes `FIELD = VALUE` lines (`id`, `key-des`, `key-aes`, `token`); `#` begins a comment.
    mutating func apply(text: String) throws(Failure) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard !words.isEmpty else { continue }
            guard words.count == 3, words[1] == "=" else {
                throw Failure(description: "line \(index + 1): expected 'FIELD = VALUE'")
            }
            let value = String(words[2])
            switch words[0] {
            case "id": id = value
            case "key-des": desKey = value
            case "key-aes": aesKey = value
            case "token": token = value
            default:
                throw Failure(description: "line \(index + 1): no field '\(words[0])'")
            }
        }
    }

    /// Refuses what no console would issue.
    func check() throws(Failure) {
        guard let number = Int32(id), number > 0 else {
            throw Failure(description: "id: '\(id)' is no positive 32-bit integer")
        }
        guard let number = Int(token), number >= 0 else {
            throw Failure(description: "token: not a positive integer")
        }
        guard desKey.utf8.count == 8 else {
            throw Failure(description: "key-des: \(desKey.utf8.count) octets, not 8")
        }
        guard aesKey.utf8.count == 16 else {
            throw Failure(description: "key-aes: \(aesKey.utf8.count) octets, not 16")
        }
    }
}
