// SPDX-License-Identifier: Apache-2.0

/// Resource record (RFC 1035 §4.1.3).
package struct Record: Hashable, Sendable {
    package var name: Name
    package let type: RecordType
    package let recordClass: RecordClass

    /// TTL in seconds, 0...2^31-1 (RFC 2181 §8).
    package var ttl: UInt32

    package let data: RecordData

    /// Creates a record; `data` must be valid for `type`.
    package init(
        name: Name,
        type: RecordType,
        recordClass: RecordClass = .in,
        ttl: UInt32,
        data: RecordData
    ) {
        precondition(data.fits(type), "the record data does not match the record type")
        precondition(ttl <= WireLimits.maximumTTL, "a TTL has 31 bits")
        self.name = name
        self.type = type
        self.recordClass = recordClass
        self.ttl = ttl
        self.data = data
    }

    package init(name: Name, ttl: UInt32, data: RecordData) {
        guard let type = data.impliedType else {
            preconditionFailure("the record data does not determine the record type")
        }
        self.init(name: name, type: type, ttl: ttl, data: data)
    }
}

// MARK: - Reading

extension Record {
    package var question: Question { Question(name: name, type: type, recordClass: recordClass) }
}

// MARK: - Wire

extension Record {
    struct Prologue {
        var name: Name
        var type: RecordType
        /// Class; in OPT the payload size.
        var recordClass: RecordClass
        /// TTL as received; in OPT the extended RCODE, the version and the flags.
        var ttl: UInt32
        var dataCount: Int

        init(parsing reader: inout WireReader, question: Name? = nil) throws(WireError) {
            name = try reader.name(sharing: question)
            type = RecordType(rawValue: try reader.uint16())
            recordClass = RecordClass(rawValue: try reader.uint16())
            ttl = try reader.uint32()
            dataCount = Int(try reader.uint16())
        }
    }

    init(_ prologue: Prologue, dataFrom reader: inout WireReader) throws(WireError) {
        let outer = try reader.enterField(prologue.dataCount)
        do throws(WireError) {
            data = try RecordData(
                parsing: &reader,
                type: prologue.type,
                recordClass: prologue.recordClass
            )
        } catch .truncated(let offset) {
            throw .badRDATA(at: offset)
        }
        guard reader.isAtEnd else { throw .badRDATA(at: reader.offset) }
        reader.leaveField(outer)
        name = prologue.name
        type = prologue.type
        recordClass = prologue.recordClass
        ttl = prologue.ttl > WireLimits.maximumTTL ? 0 : prologue.ttl
    }
}

// MARK: - Conformances

extension Record: CustomStringConvertible {
    package var description: String { "\(name) \(ttl) \(recordClass) \(type) \(data)" }
}
