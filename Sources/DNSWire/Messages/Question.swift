// SPDX-License-Identifier: Apache-2.0

/// What is asked (RFC 1035 §4.1.2), and the key of all that is known about it.
package struct Question: Hashable, Sendable {
    /// QNAME, in the case it was asked in; equal without regard to case.
    package var name: Name

    /// QTYPE.
    package var type: RecordType

    /// QCLASS.
    package var recordClass: RecordClass

    /// Makes a question, of the Internet unless told otherwise.
    package init(name: Name, type: RecordType, recordClass: RecordClass = .in) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}

// MARK: - Wire

extension Question {
    /// Reads a question; its name may be compressed, as a second one's may.
    init(parsing reader: inout WireReader) throws(WireError) {
        name = try reader.name()
        type = RecordType(rawValue: try reader.uint16())
        recordClass = RecordClass(rawValue: try reader.uint16())
    }

    /// How many octets the question takes.
    var octetCount: Int { name.octets.count + 4 }
}

// MARK: - Conformances

extension Question: CustomStringConvertible {
    /// As in zone files: `www.example.com. IN A`.
    package var description: String { "\(name) \(recordClass) \(type)" }
}
