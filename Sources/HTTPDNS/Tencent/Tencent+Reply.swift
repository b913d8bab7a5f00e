// SPDX-License-Identifier: Apache-2.0
package import Net

extension Tencent {
    /// An empty body means "no record".
    package func answers(
        to lookup: VendorQuery,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        try TencentReply(to: lookup, isSealed: isSealed).answers(in: try openedBody(of: reply))
    }

    var isSealed: Bool { if case .sealed = access { true } else { false } }

    func openedBody(of reply: HTTPReply) throws(VendorError) -> ArraySlice<UInt8> {
        let body = try reply.acceptedBody()[...].trimmingTrailingSpace()
        guard case .sealed(let cipher, _, _) = access, !body.isEmpty else { return body }
        return try Self.open(body, with: cipher)[...]
    }

    private static func open(
        _ body: ArraySlice<UInt8>,
        with cipher: Cipher
    ) throws(VendorError) -> [UInt8] {
        guard let sealed = Hexadecimal.decode(body) else { throw .unreadable(.notHexadecimal) }
        return try cipher.open(sealed)
    }
}
