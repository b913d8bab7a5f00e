// SPDX-License-Identifier: Apache-2.0
import Acceleration
import DNSCache
import DNSWire
import Glibc
import Testing

struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func once(in times: Int) -> Bool { below(times) == 0 }
}

enum Kernel {
    static let objection: AccelerationError? = {
        do throws(AccelerationError) {
            _ = try KernelAnswers(entries: 1, origin: .now, seed: 1)
            return nil
        } catch {
            return error
        }
    }()

    static var runsPrograms: Bool { objection == nil }
}

struct Frame: Equatable {
    var source: IPAddress
    var destination: IPAddress
    var sourcePort: UInt16 = 40_000
    var destinationPort: UInt16 = 53
    var payload: [UInt8]

    /// False if the packet has no UDP checksum, which is optional over IPv4.
    var isChecked = true

    var isIntact = true

    /// Ethernet frame; its UDP checksum covers only the pseudo-header, as on loopback.
    var octets: [UInt8] {
        let count = 8 + payload.count
        var sum = Self.sum(source.octets + destination.octets) + 17 + UInt64(count)
        var octets = [UInt8](repeating: 0, count: 12)
        if case .v4 = source {
            var header: [UInt8] =
                [0x45, 0] + Self.octets(20 + count) + [1, 2, 0x40, 0, 64, 17, 0, 0]
            header += source.octets + destination.octets
            let check = ~Self.fold(Self.sum(header))
            header[10] = UInt8(check >> 8)
            header[11] = UInt8(check & 0xFF)
            octets += [8, 0] + header
        } else {
            octets += [0x86, 0xDD, 0x60, 1, 2, 3] + Self.octets(count) + [17, 64]
            octets += source.octets + destination.octets
        }
        sum = isChecked ? UInt64(Self.fold(sum)) : 0
        octets += Self.octets(Int(sourcePort)) + Self.octets(Int(destinationPort))
        return octets + Self.octets(count) + Self.octets(Int(sum)) + payload
    }

    init?(_ octets: [UInt8]) {
        guard octets.count >= 42 else { return nil }
        let number = { Int(octets[$0]) << 8 | Int(octets[$0 + 1]) }
        let start: Int
        if number(12) == 0x0800 {
            guard octets[14] == 0x45, number(16) == octets.count - 14, octets[23] == 17,
                number(20) & 0x3FFF == 0
            else { return nil }
            isIntact = Self.fold(Self.sum(octets[14..<34])) == 0xFFFF
            source = IPAddress(octets: octets[26..<30])
            destination = IPAddress(octets: octets[30..<34])
            start = 34
        } else {
            guard number(12) == 0x86DD, octets[14] >> 4 == 6, octets.count >= 62, octets[20] == 17,
                number(18) == octets.count - 54
            else { return nil }
            source = IPAddress(octets: octets[22..<38])
            destination = IPAddress(octets: octets[38..<54])
            start = 54
        }
        guard number(start + 4) == octets.count - start else { return nil }
        sourcePort = UInt16(number(start))
        destinationPort = UInt16(number(start + 2))
        payload = Array(octets[(start + 8)...])
        isChecked = number(start + 6) != 0
        let sum = Self.sum(source.octets + destination.octets) + 17 + UInt64(number(start + 4))
        if isChecked ? number(start + 6) != Int(Self.fold(sum)) : start == 54 { return nil }
    }

    init(_ payload: [UInt8], from source: IPAddress, to destination: IPAddress) {
        self.source = source
        self.destination = destination
        self.payload = payload
    }

    private static func octets(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    private static func sum(_ octets: some Sequence<UInt8>) -> UInt64 {
        var sum: UInt64 = 0
        for (index, octet) in octets.enumerated() {
            sum += UInt64(octet) << (index % 2 == 0 ? 8 : 0)
        }
        return sum
    }

    private static func fold(_ sum: UInt64) -> UInt16 {
        var sum = sum
        while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
        return UInt16(sum)
    }
}

extension IPAddress {
    static let loopback4 = IPAddress.v4(IPv4Address(value: 0x7F00_0001))
    static let loopback6 = IPAddress.v6(IPv6Address(high: 0, low: 1))

    init(octets: some Sequence<UInt8>) {
        let octets = Array(octets)
        let number = { (range: Range<Int>) in
            octets[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        self =
            octets.count == 4
            ? .v4(IPv4Address(value: UInt32(number(0..<4))))
            : .v6(IPv6Address(high: number(0..<8), low: number(8..<16)))
    }

    var octets: [UInt8] {
        let number = { (value: UInt64, count: Int) in
            (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
        }
        return switch self {
        case .v4(let address): number(UInt64(address.value), 4)
        case .v6(let address): number(address.high, 8) + number(address.low, 8)
        }
    }
}

extension Instant {
    /// Current time of CLOCK_BOOTTIME, from which the BPF program computes ages of answers.
    static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Self(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
