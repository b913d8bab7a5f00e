// SPDX-License-Identifier: Apache-2.0

/// Octet stream over TCP or TLS; one task may read while another task writes.
@ServiceLoop
package protocol OctetStream: AnyObject, Sendable {
    /// Returns 1 to `limit` octets; empty at the end of input.
    func read(
        upTo limit: Int,
        deadline: Instant?
    ) async throws(SocketError) -> [UInt8]

    /// Writes all of `octets`; if writing fails, some octets may have been sent.
    func write(
        _ octets: [UInt8],
        deadline: Instant?
    ) async throws(SocketError)

    /// Closes the stream; waiting tasks get `SocketError.closed`.
    func close()
}

extension StreamConnection: OctetStream {}
