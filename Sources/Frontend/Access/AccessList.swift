// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Networks of the clients that `allow` permits.
package struct AccessList: Sendable {
    private let v4: DisjointRanges<UInt32>
    private let v6: DisjointRanges<UInt128>

    /// Creates a list; an empty list denies every client.
    package init(_ prefixes: [IPPrefix]) {
        var v4: [ClosedRange<UInt32>] = []
        var v6: [ClosedRange<UInt128>] = []
        for prefix in prefixes {
            switch prefix.address {
            case .v4(let address): v4.append(address.value.block(ofLength: prefix.length))
            case .v6(let address): v6.append(address.number.block(ofLength: prefix.length))
            }
        }
        self.v4 = DisjointRanges(v4)
        self.v6 = DisjointRanges(v6)
    }

    func allows(_ address: IPAddress) -> Bool {
        switch address.unmapped {
        case .v4(let address): v4.contains(address.value)
        case .v6(let address): v6.contains(address.number)
        }
    }
}

private struct DisjointRanges<Value: FixedWidthInteger & Sendable>: Sendable {
    /// In ascending order.
    private var first: [Value] = []
    private var last: [Value] = []

    init(_ ranges: [ClosedRange<Value>]) {
        let sorted = ranges.sorted {
            ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound)
        }
        for range in sorted where last.last.map({ $0 < range.lowerBound }) ?? true {
            first.append(range.lowerBound)
            last.append(range.upperBound)
        }
    }

    func contains(_ value: Value) -> Bool {
        var (low, high) = (0, first.count)
        while low < high {
            let middle = (low + high) / 2
            if first[middle] <= value { low = middle + 1 } else { high = middle }
        }
        return low > 0 && value <= last[low - 1]
    }
}

extension FixedWidthInteger {
    fileprivate func block(ofLength length: Int) -> ClosedRange<Self> {
        self...(self | ~(~0 << (Self.bitWidth - length)))
    }
}

extension IPv6Address {
    fileprivate var number: UInt128 { UInt128(high) << 64 | UInt128(low) }
}

extension IPAddress {
    init(_ octets: RawSpan) {
        if octets.byteCount == 4 {
            self = .v4(IPv4Address(value: octets.uint32(at: 0)))
        } else {
            self = .v6(
                IPv6Address(
                    high: octets.octets8(at: 0).byteSwapped,
                    low: octets.octets8(at: 8).byteSwapped
                )
            )
        }
    }
}
