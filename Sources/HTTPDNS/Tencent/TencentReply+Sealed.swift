// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Checks of text that was encrypted without authentication (AES-CBC, DES-ECB).
///
/// The sender chooses the initialisation vector. An attacker on the path who knows one pair of
/// plaintext and ciphertext can therefore forge any text of 16 octets. A longer text has blocks
/// that the attacker cannot choose. The text must therefore be complete and valid in every octet:
/// the name (`query=1`), TTLs (`ttl=1`), and at the end the client's address (`clientip=1`), which
/// the vendor documents and without which its SDKs drop a reply.
///
/// This limits forgery but does not prevent it. An attacker can still combine known blocks so that
/// a name gets the addresses of another name, or a very short name gets any address.
extension TencentReply {
    /// Checks the octets of `body` and the client's address at its end; an empty body is valid.
    ///
    /// - Throws: `VendorError.unreadable(.noRecord)` for an octet that records cannot have,
    ///   `.incomplete` without the address.
    static func checkSealed(_ body: ArraySlice<UInt8>) throws(VendorError) {
        let text = body.trimmingTrailingSpace()
        guard !text.isEmpty else { return }
        guard text.allSatisfy(isInSealedRecords) else { throw .unreadable(.noRecord) }
        guard let bar = text.lastIndex(of: UInt8(ascii: "|")),
            IPAddress(String(decoding: text[(bar + 1)...], as: Unicode.UTF8.self)) != nil
        else { throw .unreadable(.incomplete) }
    }

    /// Returns true if `octet` may be part of a record, or end a record.
    private static func isInSealedRecords(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "|"), 0x0D, 0x0A:
            true
        default:
            isInHostnames(octet)
        }
    }
}
