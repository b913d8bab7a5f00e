// SPDX-License-Identifier: Apache-2.0
package import Net

extension Tencent {
    /// Opens the body, if it is sealed, and reads it.
    ///
    /// An empty body, sealed or not, is the vendor's "no record".  Sealed text must have everything
    /// that the request asked for: CBC and ECB hide text but do not authenticate it.
    package func answers(
        to lookup: Lookup,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        try TencentReply(to: lookup, isSealed: isSealed).answers(in: try openedBody(of: reply))
    }

    /// Whether names and replies are encrypted by the API, and so not authenticated.
    var isSealed: Bool { if case .sealed = access { true } else { false } }

    /// The body without line ends behind it, opened if the channel seals it.
    func openedBody(of reply: HTTPReply) throws(VendorError) -> ArraySlice<UInt8> {
        let body = try reply.acceptedBody()[...].trimmingTrailingSpace()
        guard case .sealed(let cipher, _, _) = access, !body.isEmpty else { return body }
        return try Self.open(body, with: cipher)[...]
    }

    /// Decrypts hexadecimal text.
    private static func open(
        _ body: ArraySlice<UInt8>,
        with cipher: any Cipher
    ) throws(VendorError) -> [UInt8] {
        guard let sealed = Hexadecimal.decode(body) else { throw .unreadable(.notHexadecimal) }
        do throws(CipherError) {
            return try cipher.open(sealed)
        } catch {
            throw error == .undecryptable ? .undecryptable : .cipher(error)
        }
    }
}
