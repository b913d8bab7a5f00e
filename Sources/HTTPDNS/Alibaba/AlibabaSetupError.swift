// SPDX-License-Identifier: Apache-2.0

/// Why an account's settings cannot be used.
package enum AlibabaSetupError: Error, Hashable {
    /// The account is empty, too long, or has other characters than letters and digits.
    case account

    /// The key for signatures is not hexadecimal.
    case secret

    /// The key for encryption is missing or not hexadecimal.
    case aesKey

    /// Only v2 can be encrypted.
    case encryptionOfV1

    /// The TLS name is neither a host name nor an IP address.
    case tlsName

    /// A parameter of custom resolution has a character that is not allowed.
    case parameter(String)

    /// The parameters of custom resolution are too long together.
    case parameters

    /// The key or the cipher cannot be used.
    case cipher(CipherError)
}

extension AlibabaSetupError: CustomStringConvertible {
    /// One line for the operator, without the secret.
    package var description: String {
        switch self {
        case .account: "the account must be letters and digits, as the console shows it"
        case .secret: "the secret must be hexadecimal digits, as the console shows it"
        case .aesKey: "encryption needs an AES key of 32 hexadecimal digits"
        case .encryptionOfV1: "only the API v2 can be encrypted"
        case .tlsName: "the TLS name is neither a host name nor an IP address"
        case .parameter(let name):
            "the parameter \(name) has characters other than letters, digits, - and _"
        case .parameters:
            "the parameters have more than \(VendorLimits.maximumParameters) octets together"
        case .cipher(.keyLength(let expected, let found)):
            "the AES key must have \(expected * 2) hexadecimal digits, not \(found * 2)"
        case .cipher(let error): error.description
        }
    }
}
