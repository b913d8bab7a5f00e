// SPDX-License-Identifier: Apache-2.0

/// Vendor's code for an error or an empty answer, for example `InvalidSignature`.
///
/// Length and characters are limited, because operators see this text.
package struct VendorCode: Sendable, Hashable {
    package let text: String

    package init?(_ text: String) {
        guard (1...VendorLimits.maximumCode).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isAlphanumeric || "._- ".utf8.contains($0) })
        else { return nil }
        self.text = text
    }

    private init(known text: String) {
        self.text = text
    }
}

// MARK: - Known codes

extension VendorCode {
    package static let serviceLevelDeny = VendorCode(known: "ServiceLevelDeny")

    package static let disable = VendorCode(known: "disable")

    /// Alibaba's codes for a refused account or key.
    package static let accountCodes: Set<VendorCode> = [
        VendorCode(known: "InvalidAccount"), VendorCode(known: "AccountNotExists"),
        VendorCode(known: "UnsignedInterfaceDisabled"), VendorCode(known: "InvalidSignature"),
        .disable,
    ]

    package static let noRecord = VendorCode(known: "RRNotExist")

    package static let noDomain = VendorCode(known: "DomainNotExist")
}

extension VendorCode: CustomStringConvertible {
    package var description: String { text }
}
