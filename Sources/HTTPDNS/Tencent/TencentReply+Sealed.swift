// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Checks of text that was encrypted without authentication: AES-CBC, and DES-ECB.
///
/// With one known pair of plaintext and ciphertext a stranger on the way writes any text of 16 octets,
/// because the initialisation vector in front of it is the stranger's to choose.  Longer text then
/// has blocks in it which the stranger cannot choose.  So the text must be longer than that, and
/// every octet of it must be right: the name (`query=1`), TTLs (`ttl=1`) and at the end the client's
/// address (`clientip=1`), which the vendor's pages promise and without which its kits drop a reply.
///
/// This bounds a forger and does not stop all: known blocks can still be put together so that a
/// name has the addresses of another name, and a name of a few letters any.
extension TencentReply {
    /// Checks the octets of `body` and the client's address at its end; an empty body is well-formed.
    ///
    /// - Throws: `VendorError.unreadable(.noRecord)` for an octet that no record has, `.incomplete`
    ///   without the address.
    static func checkSealed(_ body: ArraySlice<UInt8>) throws(VendorError) {
        let text = body.trimmingTrailingSpace()
        guard !text.isEmpty else { return }
        guard text.allSatisfy(isInSealedRecords) else { throw .unreadable(.noRecord) }
        guard let bar = text.lastIndex(of: UInt8(ascii: "|")),
            IPAddress(String(decoding: text[(bar + 1)...], as: Unicode.UTF8.self)) != nil
        else { throw .unreadable(.incomplete) }
    }

    /// Whether `octet` may be part of a record, or end one.
    private static func isInSealedRecords(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "|"), 0x0D, 0x0A:
            true
        default:
            isInHostnames(octet)
        }
    }
}
