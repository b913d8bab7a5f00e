// SPDX-License-Identifier: Apache-2.0

/// Offsets of the TTLs in a message, ascending; up to four offsets need no allocation.
package struct TTLOffsets: Sendable {
    private var few = InlineArray<4, UInt16>(repeating: 0)

    private var many: [UInt16] = []

    package private(set) var count = 0

    package init() {}
    package init(_ offsets: some Sequence<UInt16>) { for offset in offsets { append(offset) } }

    package mutating func append(_ offset: UInt16) {
        if count < few.count {
            few[count] = offset
        } else {
            if many.isEmpty { many = few.indices.map { few[$0] } }
            many.append(offset)
        }
        count += 1
    }

    package var rawSpan: RawSpan {
        @_lifetime(borrow self)
        get {
            guard many.isEmpty else { return many.rawSpan }
            return few.span.rawSpan.extracting(0..<count * MemoryLayout<UInt16>.size)
        }
    }
}

extension TTLOffsets: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }
    package subscript(index: Int) -> UInt16 { many.isEmpty ? few[index] : many[index] }
}

extension TTLOffsets: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }
    package func hash(into hasher: inout Hasher) { for offset in self { hasher.combine(offset) } }
}
