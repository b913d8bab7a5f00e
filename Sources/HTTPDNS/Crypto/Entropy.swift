// SPDX-License-Identifier: Apache-2.0
import COpenSSL

package struct Entropy: Sendable {
    package let octets: @Sendable (_ count: Int) throws(VendorError) -> [UInt8]

    package init(_ octets: @escaping @Sendable (_ count: Int) throws(VendorError) -> [UInt8]) {
        self.octets = octets
    }

    // SAFETY: the array has the number of octets that RAND_bytes fills.
    package static let system = Entropy { (count) throws(VendorError) in
        var octets = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&octets, Int32(count)) == 1 else { throw .cipher(.noEntropy) }
        return octets
    }
}
