// SPDX-License-Identifier: Apache-2.0

/// Address families of a question to a vendor; a fleet exchanges the raw values.
package enum Families: UInt8, Sendable {
    case v4 = 1
    case v6 = 2
    case both = 3

    package var includesV4: Bool { self != .v6 }

    package var includesV6: Bool { self != .v4 }
}

/// Negative answer of a resolver (RFC 2308 §2).
package struct Denial: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The last name of the CNAME chain does not exist (RFC 6604 §3).
        case nxDomain

        case noData
    }

    package var kind: Kind

    /// Negative TTL in seconds (RFC 2308 §5); nil without an SOA record.
    package var ttl: UInt32?

    package init(_ kind: Kind, ttl: UInt32? = nil) {
        self.kind = kind
        self.ttl = ttl
    }
}
