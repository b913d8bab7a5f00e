// SPDX-License-Identifier: Apache-2.0

package enum AccountError: Error, Hashable {
    case account

    case secret

    case tlsName

    static func check(account: String, secret: Secret) throws(AccountError) {
        guard (1...VendorLimits.maximumAccount).contains(account.utf8.count),
            account.utf8.allSatisfy(\.isAlphanumeric)
        else { throw .account }
        guard (1...VendorLimits.maximumAccount).contains(secret.count),
            secret.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .secret }
    }

    static func origin(usesTLS: Bool, tlsName: String) throws(AccountError) -> Origin {
        guard usesTLS else { return .http() }
        guard let host = HTTPURL.host(tlsName) else { throw .tlsName }
        return .https(name: host)
    }
}

extension AccountError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .account:
            "the account must have only letters and digits; copy it from the vendor's console"
        case .secret:
            "the secret must be 1 to \(VendorLimits.maximumAccount) printable ASCII characters"
        case .tlsName: "the TLS name is neither a host name nor an IP address"
        }
    }
}
