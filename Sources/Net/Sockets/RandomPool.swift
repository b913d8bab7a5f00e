// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Random numbers of the kernel; a used number is erased, so that memory reveals no past query ID.
package struct RandomPool: RandomNumberGenerator, Sendable {
    /// getentropy(3) returns at most 256 octets.
    private static let count = 32

    private var numbers = [UInt64](repeating: 0, count: RandomPool.count)
    private var left = 0

    package init() {}

    package mutating func next() -> UInt64 {
        if left == 0 { fill() }
        left -= 1
        defer { numbers[left] = 0 }
        return numbers[left]
    }

    /// Blocks only during boot, until the kernel has entropy.
    private mutating func fill() {
        // SAFETY: getentropy writes exactly the size of the array.
        let status = unsafe numbers.withUnsafeMutableBytes {
            unsafe getentropy($0.baseAddress, $0.count)
        }
        precondition(status == 0, "the kernel has no random numbers: \(errorText(errno))")
        left = Self.count
    }
}
