// SPDX-License-Identifier: Apache-2.0

/// A connection that octets go through in order, in the clear (TCP) or not (TLS).
///
/// One task may read while another writes.
@ServiceLoop
package protocol OctetStream: AnyObject, Sendable {
    /// The octets that have come, at least one and at most `limit`; empty when the peer is done.
    func read(
        upTo limit: Int,
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> [UInt8]

    /// Writes all of `octets`; on an error some of them may have left.
    func write(
        _ octets: [UInt8],
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError)

    /// Closes the connection; who waits on it gets `SocketError.closed`.
    func close()
}

extension StreamConnection: OctetStream {}
