// SPDX-License-Identifier: Apache-2.0

/// Question of a message (RFC 1035 §4.1.2).
package struct Question: Hashable, Sendable {
    package var name: Name

    package var type: RecordType
    package var recordClass: RecordClass

    package init(name: Name, type: RecordType, recordClass: RecordClass = .in) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}

// MARK: - Wire

extension Question {
    init(parsing reader: inout WireReader) throws(WireError) {
        name = try reader.name()
        type = RecordType(rawValue: try reader.uint16())
        recordClass = RecordClass(rawValue: try reader.uint16())
    }

    var octetCount: Int { name.octets.count + 4 }
}

// MARK: - Conformances

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(recordClass) \(type)" }
}
