// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// A key or token that no description shows and that is overwritten when the last owner lets go.
///
/// The octets given to the initialisers are the caller's to forget; this copy is the one that
/// lives as long as the configuration does.
// SAFETY: the storage is written once in init and then only read, until deinit frees it without
// other owners; nothing outside can reach it but for the time of `withOctets`.
@safe
package final class Secret: @unchecked Sendable {
    /// The octets, in memory that is never copied, moved or given back unwiped.
    private let storage: UnsafeMutableRawBufferPointer

    /// Keeps a copy of `octets`.
    package init(_ octets: [UInt8]) {
        // SAFETY: the buffer has exactly the size of what is copied into it.
        count = octets.count
        unsafe storage = .allocate(byteCount: octets.count, alignment: 1)
        unsafe storage.copyBytes(from: octets)
    }

    /// Keeps the octets, and wipes them where they were.
    package convenience init(wiping octets: inout [UInt8]) {
        self.init(octets)
        octets.wipe()
    }

    /// Keeps a copy of the UTF-8 octets of `text`.
    package convenience init(_ text: String) {
        self.init([UInt8](text.utf8))
    }

    deinit {
        // SAFETY: nobody else holds the storage any more; cleanse accepts a null base with count 0.
        unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)
        unsafe storage.deallocate()
    }

    /// How many octets it has.
    package let count: Int

    /// Lends the octets for the time of `body`; they must not outlive it.
    package func withOctets<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: self, and with it the storage, lives until body returns.
        unsafe try body(UnsafeRawBufferPointer(storage))
    }

    /// Whether all octets are such.
    package func allSatisfy(_ isSuch: (UInt8) -> Bool) -> Bool {
        // SAFETY: the octets are lent for the time of the look.
        unsafe withOctets { unsafe $0.allSatisfy(isSuch) }
    }

    /// The secret that these hexadecimal digits are; nil if they are none.
    var hexadecimal: Secret? {
        var digits = copy
        defer { digits.wipe() }
        guard var octets = Hexadecimal.decode(digits[...]) else { return nil }
        return Secret(wiping: &octets)
    }

    /// A copy of the octets, for what has to be text, such as a token in a URL.
    package var copy: [UInt8] {
        // SAFETY: the octets are copied before the storage can go away.
        unsafe withOctets { unsafe [UInt8]($0) }
    }
}

// MARK: - Comparing

extension Secret: Equatable {
    /// Takes as long whatever they have in common, and copies nothing.
    package static func == (left: Secret, right: Secret) -> Bool {
        // SAFETY: both are lent for the time of the call, and are as long as is said.
        unsafe left.withOctets { left in
            unsafe right.withOctets { right in
                unsafe left.count == right.count
                    && CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}

// MARK: - Showing nothing

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Leaving nothing

extension [UInt8] {
    /// Overwrites all octets, in a way that no compiler leaves out, and removes them.
    ///
    /// Only this owner's: who shares the octets has a copy that stays.
    package mutating func wipe() {
        // SAFETY: the base and the count are those of the array's storage, for the time of the call.
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        removeAll()
    }
}
