// SPDX-License-Identifier: Apache-2.0

package enum AlibabaSetupError: Error, Hashable {
    case account

    case secret

    case aesKey

    case encryptionOfV1

    case tlsName

    case parameter(String)

    case parameters

    case cipher(CipherError)
}

extension AlibabaSetupError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .account:
            "the account must have only letters and digits; copy it from the vendor's console"
        case .secret:
            "the secret must have only hexadecimal digits; copy it from the vendor's console"
        case .aesKey: "encryption needs an AES key of 32 hexadecimal digits"
        case .encryptionOfV1: "only calls of the API v2 can be encrypted"
        case .tlsName: "the TLS name is neither a host name nor an IP address"
        case .parameter(let name):
            "the parameter \(name) has characters other than letters, digits, - and _"
        case .parameters:
            "the parameters are longer than \(VendorLimits.maximumParameters) octets in total"
        case .cipher(.keyLength(let expected, let found)):
            "the AES key must have \(expected * 2) hexadecimal digits, not \(found * 2)"
        case .cipher(let error): error.description
        }
    }
}
