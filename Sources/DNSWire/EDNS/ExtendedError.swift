// SPDX-License-Identifier: Apache-2.0

/// An INFO-CODE that says more about an RCODE (RFC 8914 §4, and the IANA registry).
package struct ExtendedError: RawRepresentable, Hashable, Sendable {
    /// The number in the IANA registry.
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Makes a code of its number.
    private init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

// MARK: - Codes

extension ExtendedError {
    /// Only the text says what happened.
    package static let other = ExtendedError(0)
    /// No supported DNSKEY algorithm.
    package static let unsupportedDNSKEYAlgorithm = ExtendedError(1)
    /// No supported DS digest.
    package static let unsupportedDSDigest = ExtendedError(2)
    /// The data is past its TTL (RFC 8767).
    package static let staleAnswer = ExtendedError(3)
    /// The answer was made up for reasons of policy.
    package static let forgedAnswer = ExtendedError(4)
    /// DNSSEC could not decide.
    package static let dnssecIndeterminate = ExtendedError(5)
    /// DNSSEC says no.
    package static let dnssecBogus = ExtendedError(6)
    /// A signature is past its time.
    package static let signatureExpired = ExtendedError(7)
    /// A signature is before its time.
    package static let signatureNotYetValid = ExtendedError(8)
    /// A DS record has no key.
    package static let dnskeyMissing = ExtendedError(9)
    /// Signatures are missing.
    package static let rrsigsMissing = ExtendedError(10)
    /// No key has the zone key bit.
    package static let noZoneKeyBitSet = ExtendedError(11)
    /// NSEC or NSEC3 records are missing.
    package static let nsecMissing = ExtendedError(12)
    /// The failure comes from the cache.
    package static let cachedError = ExtendedError(13)
    /// The server is starting.
    package static let notReady = ExtendedError(14)
    /// The operator of this server blocks the name.
    package static let blocked = ExtendedError(15)
    /// Somebody above the operator wants the name blocked.
    package static let censored = ExtendedError(16)
    /// The client asked for such names to be blocked.
    package static let filtered = ExtendedError(17)
    /// The client may not ask.
    package static let prohibited = ExtendedError(18)
    /// The NXDOMAIN answer is past its TTL (RFC 8767).
    package static let staleNXDomainAnswer = ExtendedError(19)
    /// The server is not an authority for the name.
    package static let notAuthoritative = ExtendedError(20)
    /// The operation is not supported.
    package static let notSupported = ExtendedError(21)
    /// No server that could answer was reached.
    package static let noReachableAuthority = ExtendedError(22)
    /// An error of the network on the way to a server.
    package static let networkError = ExtendedError(23)
    /// The server's own data could not be read.
    package static let invalidData = ExtendedError(24)
    /// A signature ends before it begins.
    package static let signatureExpiredBeforeValid = ExtendedError(25)
    /// The query came too early in the TLS handshake (RFC 9250).
    package static let tooEarly = ExtendedError(26)
    /// The NSEC3 iterations are too many (RFC 9276).
    package static let unsupportedNSEC3Iterations = ExtendedError(27)
    /// The answer cannot be given under the server's policy.
    package static let unableToConformToPolicy = ExtendedError(28)
    /// The answer was not resolved but made from a rule.
    package static let synthesized = ExtendedError(29)
    /// The type may not be asked for (RFC 9824).
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
