// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Checks of text that was encrypted without authentication (AES-CBC, DES-ECB).
///
/// An attacker on the network path who knows a plaintext with its ciphertext can forge any text of
/// 16 octets, but not all blocks of a longer text. Therefore, every octet must be valid, and each
/// requested part must be present: the name (`query=1`), the TTLs (`ttl=1`) and, at the end, the
/// client's address (`clientip=1`).
extension TencentReply {
    /// An empty body is valid.
    static func checkSealed(_ body: ArraySlice<UInt8>) throws(VendorError) {
        let text = body.trimmingTrailingSpace()
        guard !text.isEmpty else { return }
        guard text.allSatisfy(isInSealedRecords) else { throw .unreadable(.noRecord) }
        guard let bar = text.lastIndex(of: UInt8(ascii: "|")),
            IPAddress(String(decoding: text[(bar + 1)...], as: Unicode.UTF8.self)) != nil
        else { throw .unreadable(.incomplete) }
    }

    private static func isInSealedRecords(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "|"), 0x0D, 0x0A:
            true
        default:
            isInHostnames(octet)
        }
    }
}
