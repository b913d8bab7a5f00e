// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Where random octets come from: a parameter of the codecs, so that they stay pure.
package struct Entropy: Sendable {
    /// Gives that many octets.
    package let octets: @Sendable (_ count: Int) throws(CipherError) -> [UInt8]

    /// Makes a source of a function.
    package init(_ octets: @escaping @Sendable (_ count: Int) throws(CipherError) -> [UInt8]) {
        self.octets = octets
    }

    /// OpenSSL's generator, seeded by the kernel.
    // SAFETY: the array has the count of octets that RAND_bytes is told to fill.
    package static let system = Entropy { (count) throws(CipherError) in
        var octets = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&octets, Int32(count)) == 1 else { throw .noEntropy }
        return octets
    }
}
