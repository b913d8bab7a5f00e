// SPDX-License-Identifier: Apache-2.0

/// TYPE or QTYPE (RFC 1035 §3.2.2, §3.2.3).
@frozen
public struct RecordType: RawRepresentable, Hashable, Sendable {
    /// Number of the type.
    public let rawValue: UInt16

    /// Creates a type from its number.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    // Faster than the generic `==` of `RawRepresentable`.
    /// Compares the numbers.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
}

// MARK: - Known types

extension RecordType {
    package static let a = RecordType(rawValue: 1)
    package static let ns = RecordType(rawValue: 2)
    package static let cname = RecordType(rawValue: 5)
    package static let soa = RecordType(rawValue: 6)
    package static let ptr = RecordType(rawValue: 12)
    /// Type of the answer to an ANY query (RFC 8482 §4.2).
    package static let hinfo = RecordType(rawValue: 13)
    package static let mx = RecordType(rawValue: 15)
    package static let txt = RecordType(rawValue: 16)
    /// RFC 3596 §2.1.
    package static let aaaa = RecordType(rawValue: 28)
    /// RFC 2782.
    package static let srv = RecordType(rawValue: 33)
    /// RFC 6672.
    package static let dname = RecordType(rawValue: 39)
    /// RFC 6891 §6.1.
    package static let opt = RecordType(rawValue: 41)
    /// RFC 4034 §5.
    package static let ds = RecordType(rawValue: 43)
    /// RFC 4034 §3.
    package static let rrsig = RecordType(rawValue: 46)
    /// RFC 4034 §4.
    package static let nsec = RecordType(rawValue: 47)
    /// RFC 5155 §3.
    package static let nsec3 = RecordType(rawValue: 50)
    /// RFC 9460 §2.
    package static let svcb = RecordType(rawValue: 64)
    /// RFC 9460 §9.
    package static let https = RecordType(rawValue: 65)
    /// RFC 8945 §4.
    package static let tsig = RecordType(rawValue: 250)
    /// Only in questions (RFC 1995).
    package static let ixfr = RecordType(rawValue: 251)
    /// Only in questions (RFC 5936).
    package static let axfr = RecordType(rawValue: 252)
    /// Only in questions (RFC 8482).
    package static let any = RecordType(rawValue: 255)
    /// RFC 8659 §4.
    package static let caa = RecordType(rawValue: 257)
}

// MARK: - Reading

extension RecordType {
    package var isAddress: Bool { self == .a || self == .aaaa }
    package var isServiceBinding: Bool { self == .https || self == .svcb }

    /// Parses a mnemonic or `TYPE65280` in any letter case (RFC 3597 §5).
    package init?(_ text: some StringProtocol) {
        guard let number = Self.mnemonics.number(text) else { return nil }
        self.init(rawValue: number)
    }
}

// MARK: - Conformances

extension RecordType: CustomStringConvertible {
    /// Mnemonic, or the generic form (RFC 3597 §5).
    public var description: String { Self.mnemonics.text(rawValue) }

    /// Mnemonics of the IANA types in use (RFC 6895 §3.1).
    private static let mnemonics = Mnemonics(
        prefix: "TYPE",
        [
            1: "A", 2: "NS", 3: "MD", 4: "MF", 5: "CNAME", 6: "SOA", 7: "MB", 8: "MG", 9: "MR",
            10: "NULL", 11: "WKS", 12: "PTR", 13: "HINFO", 14: "MINFO", 15: "MX", 16: "TXT",
            17: "RP", 18: "AFSDB", 19: "X25", 20: "ISDN", 21: "RT", 22: "NSAP", 23: "NSAP-PTR",
            24: "SIG", 25: "KEY", 26: "PX", 27: "GPOS", 28: "AAAA", 29: "LOC", 30: "NXT",
            33: "SRV", 35: "NAPTR", 36: "KX", 37: "CERT", 39: "DNAME", 41: "OPT", 42: "APL",
            43: "DS", 44: "SSHFP", 45: "IPSECKEY", 46: "RRSIG", 47: "NSEC", 48: "DNSKEY",
            49: "DHCID", 50: "NSEC3", 51: "NSEC3PARAM", 52: "TLSA", 53: "SMIMEA", 55: "HIP",
            59: "CDS", 60: "CDNSKEY", 61: "OPENPGPKEY", 62: "CSYNC", 63: "ZONEMD", 64: "SVCB",
            65: "HTTPS", 99: "SPF", 108: "EUI48", 109: "EUI64", 249: "TKEY", 250: "TSIG",
            251: "IXFR", 252: "AXFR", 253: "MAILB", 254: "MAILA", 255: "ANY", 256: "URI",
            257: "CAA", 258: "AVC", 32769: "DLV",
        ]
    )
}
