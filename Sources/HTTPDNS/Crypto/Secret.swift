// SPDX-License-Identifier: Apache-2.0
import COpenSSL
private import Net

/// Key or token that descriptions do not show, and that is wiped before its memory is freed.
// SAFETY: the storage is written once in init, then only read, and freed in deinit when no
// reference remains. Only `withOctets` exposes it, for the duration of its closure.
@safe
package final class Secret: @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// Creates a secret from a copy of `octets`; the caller must wipe `octets`.
    package init(_ octets: [UInt8]) {
        // SAFETY: the buffer has exactly the size of the octets copied into it.
        count = octets.count
        unsafe storage = .allocate(byteCount: octets.count, alignment: 1)
        unsafe storage.copyBytes(from: octets)
    }

    package convenience init(wiping octets: inout [UInt8]) {
        self.init(octets)
        octets.wipe()
    }

    package convenience init(_ text: String) {
        self.init([UInt8](text.utf8))
    }

    deinit {
        // SAFETY: no other reference remains.
        unsafe storage.wipe()
        unsafe storage.deallocate()
    }

    package let count: Int

    /// Calls `body` with the octets; the pointer is invalid after the call.
    package func withOctets<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: self, and with it the storage, lives until body returns.
        unsafe try body(UnsafeRawBufferPointer(storage))
    }

    package func allSatisfy(_ isSuch: (UInt8) -> Bool) -> Bool {
        // SAFETY: the pointer is used only within the closure.
        unsafe withOctets { unsafe $0.allSatisfy(isSuch) }
    }

    var hexadecimal: Secret? {
        var digits = copy
        defer { digits.wipe() }
        guard var octets = Hexadecimal.decode(digits[...]) else { return nil }
        return Secret(wiping: &octets)
    }

    package var copy: [UInt8] {
        // SAFETY: the octets are copied within the closure.
        unsafe withOctets { unsafe [UInt8]($0) }
    }
}

// MARK: - Authenticating

extension Secret {
    /// Returns the HMAC-SHA256 of a text; ``Digest/hasHMAC`` must be true.
    package func code(of text: [UInt8]) -> [UInt8] {
        guard let code = try? Digest.hmacSHA256(key: self, text) else {
            preconditionFailure("OpenSSL has no HMAC-SHA256")
        }
        return code
    }
}

// MARK: - Comparing

extension Secret: Equatable {
    /// For equal lengths, the time does not depend on the octets.
    package static func == (left: Secret, right: Secret) -> Bool {
        // SAFETY: both pointers are valid during the closures, and both have `count` octets.
        unsafe left.withOctets { left in
            unsafe right.withOctets { right in
                unsafe left.count == right.count
                    && CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}

// MARK: - Description without secrets

/// Value that shows no secret in its description and in its mirror.
package protocol Redacted:
    CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{}

extension Redacted {
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted where Self: Vendor {
    package var description: String { facts.kind }
}

extension Secret: Redacted {
    package var description: String { "(secret)" }
}
