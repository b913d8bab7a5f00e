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

    /// A copy of the octets, for what has to be text, such as a token in a URL.
    package var copy: [UInt8] {
        // SAFETY: the octets are copied before the storage can go away.
        unsafe withOctets { unsafe [UInt8]($0) }
    }
}

// MARK: - Showing nothing

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
