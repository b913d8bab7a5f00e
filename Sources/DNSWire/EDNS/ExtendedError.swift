// SPDX-License-Identifier: Apache-2.0

/// An extended error code, INFO-CODE (RFC 8914 §4 and the IANA registry).
package struct ExtendedError: RawRepresentable, Hashable, Sendable {
    /// The number in the IANA registry.
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

// MARK: - Codes

extension ExtendedError {
    /// Described only by the text.
    package static let other = ExtendedError(0)
    /// No supported DNSKEY algorithm.
    package static let unsupportedDNSKEYAlgorithm = ExtendedError(1)
    /// No supported DS digest type.
    package static let unsupportedDSDigest = ExtendedError(2)
    /// The answer is stale (RFC 8767).
    package static let staleAnswer = ExtendedError(3)
    /// The answer is forged for policy reasons.
    package static let forgedAnswer = ExtendedError(4)
    /// DNSSEC validation is indeterminate.
    package static let dnssecIndeterminate = ExtendedError(5)
    /// DNSSEC validation failed.
    package static let dnssecBogus = ExtendedError(6)
    /// A signature has expired.
    package static let signatureExpired = ExtendedError(7)
    /// A signature is not yet valid.
    package static let signatureNotYetValid = ExtendedError(8)
    /// No DNSKEY matches a DS record.
    package static let dnskeyMissing = ExtendedError(9)
    /// Signatures are missing.
    package static let rrsigsMissing = ExtendedError(10)
    /// No DNSKEY has the zone key bit.
    package static let noZoneKeyBitSet = ExtendedError(11)
    /// NSEC or NSEC3 records are missing.
    package static let nsecMissing = ExtendedError(12)
    /// The failure was cached.
    package static let cachedError = ExtendedError(13)
    /// The server is not ready.
    package static let notReady = ExtendedError(14)
    /// The operator of this server blocks the name.
    package static let blocked = ExtendedError(15)
    /// An external authority requires the name to be blocked.
    package static let censored = ExtendedError(16)
    /// The client requested filtering of the name.
    package static let filtered = ExtendedError(17)
    /// The client is not authorised.
    package static let prohibited = ExtendedError(18)
    /// The NXDOMAIN answer is stale (RFC 8767).
    package static let staleNXDomainAnswer = ExtendedError(19)
    /// The server is not authoritative for the name.
    package static let notAuthoritative = ExtendedError(20)
    /// The operation is not supported.
    package static let notSupported = ExtendedError(21)
    /// No authoritative server was reachable.
    package static let noReachableAuthority = ExtendedError(22)
    /// A network error occurred on the way to a server.
    package static let networkError = ExtendedError(23)
    /// The server cannot read its own data.
    package static let invalidData = ExtendedError(24)
    /// A signature expires before it becomes valid.
    package static let signatureExpiredBeforeValid = ExtendedError(25)
    /// The query arrived too early in the TLS handshake (RFC 9250).
    package static let tooEarly = ExtendedError(26)
    /// Too many NSEC3 iterations (RFC 9276).
    package static let unsupportedNSEC3Iterations = ExtendedError(27)
    /// The policy of the server prevents the answer.
    package static let unableToConformToPolicy = ExtendedError(28)
    /// The answer was synthesised.
    package static let synthesized = ExtendedError(29)
    /// The query type is invalid (RFC 9824).
    package static let invalidQueryType = ExtendedError(30)
}

// MARK: - Conformances

extension ExtendedError: CustomStringConvertible {
    /// The name in the IANA registry, or the number.
    package var description: String {
        let index = Int(rawValue)
        return Self.names.indices.contains(index) ? Self.names[index] : "code \(rawValue)"
    }

    /// The names of codes 0...30.
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
