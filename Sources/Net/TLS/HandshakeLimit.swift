// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// Limit on the number of messages in one TLS handshake, for OpenSSL's message callbacks.
///
/// One OpenSSL call reads HelloRequests (RFC 5246 §7.4.1.1) until no more arrive, so a server could
/// block the service loop.
enum HandshakeLimit {
    /// Maximum records and messages of a handshake; a certificate chain of 100 KiB in records of
    /// 1,300 octets needs 160.
    private static let events: UInt = 512

    private static let index = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL,
        0,
        nil,
        nil,
        nil,
        nil
    )

    /// Counts a record or message; returns false beyond the limit of one handshake.
    static func allows(_ connection: OpaquePointer) -> Bool {
        // SAFETY: the connection is alive. The pointer contains a count, and is never dereferenced.
        let last = unsafe UInt(bitPattern: SSL_get_ex_data(connection, index))
        let count = unsafe SSL_in_init(connection) == 0 ? 0 : last + 1
        guard count != last else { return true }
        unsafe SSL_set_ex_data(connection, index, UnsafeMutableRawPointer(bitPattern: count))
        return count <= events
    }

    static func end(_ connection: OpaquePointer) {
        // SAFETY: the connection is alive.
        unsafe SSL_set_shutdown(connection, SSL_RECEIVED_SHUTDOWN)
    }
}
