// SPDX-License-Identifier: Apache-2.0

/// Vendor's code for an error or an empty answer, for example `InvalidSignature`.
///
/// The code comes from the network and is shown to the operator. It is therefore limited in length,
/// and to ASCII letters, digits, and `._- `.
package struct VendorCode: Sendable, Hashable {
    /// Text of the code.
    package let text: String

    /// Creates a code; nil if it is too long or has other characters.
    package init?(_ text: String) {
        let isHarmless = text.utf8.allSatisfy { octet in
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"), UInt8(ascii: " "):
                true
            default: false
            }
        }
        guard (1...VendorLimits.maximumCode).contains(text.utf8.count), isHarmless else {
            return nil
        }
        self.text = text
    }

    private init(known text: String) {
        self.text = text
    }
}

// MARK: - Words that mean something to us

extension VendorCode {
    /// Alibaba: this server is for accounts of a higher service level.
    package static let serviceLevelDeny = VendorCode(known: "ServiceLevelDeny")

    /// Alibaba: the scheduling service has disabled this client.
    package static let disable = VendorCode(known: "disable")

    /// Alibaba: the account or its key is not accepted, whatever the time is.
    package static let accountCodes: Set<VendorCode> = [
        VendorCode(known: "InvalidAccount"), VendorCode(known: "AccountNotExists"),
        VendorCode(known: "UnsignedInterfaceDisabled"), VendorCode(known: "InvalidSignature"),
        .disable,
    ]

    /// Alibaba: the name exists, but has no addresses of the family.
    package static let noRecord = VendorCode(known: "RRNotExist")

    /// Alibaba: the name does not exist.
    package static let noDomain = VendorCode(known: "DomainNotExist")
}

extension VendorCode: CustomStringConvertible {
    package var description: String { text }
}
