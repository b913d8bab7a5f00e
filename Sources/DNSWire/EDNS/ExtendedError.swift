// SPDX-License-Identifier: Apache-2.0

/// INFO-CODE of an extended error (RFC 8914 §4 and the IANA registry).
package struct ExtendedError: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    private init(_ rawValue: UInt16) { self.rawValue = rawValue }
}

// MARK: - Codes

extension ExtendedError {
    package static let other = ExtendedError(0)
    /// RFC 8767.
    package static let staleAnswer = ExtendedError(3)
    package static let dnssecBogus = ExtendedError(6)
    package static let cachedError = ExtendedError(13)
    package static let blocked = ExtendedError(15)
    package static let prohibited = ExtendedError(18)
    /// RFC 8767.
    package static let staleNXDomainAnswer = ExtendedError(19)
    package static let notAuthoritative = ExtendedError(20)
    package static let notSupported = ExtendedError(21)
    package static let noReachableAuthority = ExtendedError(22)
    package static let networkError = ExtendedError(23)
    package static let synthesized = ExtendedError(29)
    /// RFC 9824.
    package static let invalidQueryType = ExtendedError(30)
}

// MARK: - Conformances

extension ExtendedError: CustomStringConvertible {
    package var description: String {
        let index = Int(rawValue)
        return Self.names.indices.contains(index) ? Self.names[index] : "code \(rawValue)"
    }

    private static let names = [
        "Other Error", "Unsupported DNSKEY Algorithm", "Unsupported DS Digest Type",
        "Stale Answer", "Forged Answer", "DNSSEC Indeterminate", "DNSSEC Bogus",
        "Signature Expired", "Signature Not Yet Valid", "DNSKEY Missing", "RRSIGs Missing",
        "No Zone Key Bit Set", "NSEC Missing", "Cached Error", "Not Ready", "Blocked", "Censored",
        "Filtered", "Prohibited", "Stale NXDOMAIN Answer", "Not Authoritative", "Not Supported",
        "No Reachable Authority", "Network Error", "Invalid Data",
        "Signature Expired before Valid", "Too Early", "Unsupported NSEC3 Iterations Value",
        "Unable to conform to policy", "Synthesized", "Invalid Query Type",
    ]
}
