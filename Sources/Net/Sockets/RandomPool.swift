// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// The kernel's random numbers, fetched many at a time: one system call for some dozens of queries.
///
/// What was given out is gone from the memory, so nobody who reads it later learns which IDs were
/// used.
package struct RandomPool: RandomNumberGenerator, Sendable {
    /// Numbers a system call; getentropy(3) gives 256 octets at most.
    private static let count = 32

    private var numbers = [UInt64](repeating: 0, count: RandomPool.count)
    private var left = 0

    /// Makes an empty pool, which fetches when it is asked.
    package init() {}

    package mutating func next() -> UInt64 {
        if left == 0 { fill() }
        left -= 1
        defer { numbers[left] = 0 }
        return numbers[left]
    }

    /// Fetches numbers; waits only while the machine starts and has none.
    private mutating func fill() {
        // SAFETY: the array has exactly so many octets.
        let status = unsafe numbers.withUnsafeMutableBytes {
            unsafe getentropy($0.baseAddress, $0.count)
        }
        precondition(status == 0, "the kernel has no random numbers: \(errorText(errno))")
        left = Self.count
    }
}
