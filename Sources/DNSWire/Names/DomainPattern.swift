// SPDX-License-Identifier: Apache-2.0

/// Set of names.
package enum DomainPattern: Hashable, Sendable, CustomStringConvertible {
    /// `example.com`: the domain and all names below.
    case suffix(Name)

    /// `=www.example.com`: the domain only.
    case exact(Name)

    /// `*.example.com`: names below the domain only.
    case below(Name)

    package var domain: Name {
        switch self {
        case .suffix(let domain), .exact(let domain), .below(let domain): domain
        }
    }

    package var description: String {
        switch self {
        case .suffix(let domain): domain.text
        case .exact(let domain): "=\(domain.text)"
        case .below(let domain): "*.\(domain.text)"
        }
    }
}
