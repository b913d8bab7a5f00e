// SPDX-License-Identifier: Apache-2.0

extension QueryFault {
    /// Converts a query of `count` octets into an error reply: a header, and OPT if the query has
    /// OPT (RFC 6891 §6.1.1).
    ///
    /// - Returns: size of the reply in octets, at most `count`; 0 for no reply.
    package func reply(to count: Int, in buffer: inout MutableRawSpan) -> Int {
        let outcome: UInt16
        switch self {
        case .ignored, .unusual: return 0
        case .malformed: outcome = HeaderFlags.recursionAvailable | RCode.formErr.rawValue
        // RA concerns only recursive queries (RFC 1035 §4.1.1).
        case .otherOpcode: outcome = RCode.notImp.rawValue
        }
        let hasOPT = buffer.bytes.extracting(0..<count).hasOPT
        let flags = buffer.bytes.uint16(at: 2)
        let kept = flags & (HeaderFlags.opcode | HeaderFlags.recursionDesired)
        buffer.store(HeaderFlags.response | kept | outcome, at: 2)
        for offset in stride(from: 4, to: QueryFacts.headerCount, by: 2) {
            buffer.store(UInt16(0), at: offset)
        }
        guard hasOPT else { return QueryFacts.headerCount }
        buffer.store(UInt16(1), at: 10)
        let start = QueryFacts.headerCount
        buffer.store(UInt8(0), at: start)
        buffer.store(RecordType.opt.rawValue, at: start + 1)
        buffer.store(UInt16(QueryFacts.largestPayload), at: start + 3)
        buffer.store(UInt32(0), at: start + 5)
        buffer.store(UInt16(0), at: start + 9)
        return start + RawSpan.recordCount
    }
}

extension RawSpan {
    fileprivate static var recordCount: Int { 11 }

    fileprivate var hasOPT: Bool {
        guard byteCount >= QueryFacts.headerCount + Self.recordCount else { return false }
        var position = QueryFacts.headerCount
        for _ in 0..<Int(uint16(at: 4)) {
            guard skipName(&position), position + 4 <= byteCount else { return false }
            position += 4
        }
        let others = Int(uint16(at: 6)) + Int(uint16(at: 8))
        for index in 0..<others + Int(uint16(at: 10)) {
            let start = position
            guard skipName(&position), position + Self.recordCount - 1 <= byteCount else {
                return false
            }
            let isOPT = position == start + 1 && uint16(at: position) == RecordType.opt.rawValue
            position += Self.recordCount - 1 + Int(uint16(at: position + 8))
            guard position <= byteCount else { return false }
            if isOPT, index >= others { return true }
        }
        return false
    }

    private func skipName(_ position: inout Int) -> Bool {
        while position < byteCount {
            let length = Int(uint8(at: position))
            position += 1
            if length == 0 { return true }
            if length >= 0xC0 {
                position += 1
                return position <= byteCount
            }
            guard length <= 63 else { return false }
            position += length
        }
        return false
    }
}
