// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
private import Glibc

/// Client side of a TLS connection on memory buffers, which ``TLSConnection`` fills and sends.
// SAFETY: the connection is made in `init` and freed once, in `deinit`, with both buffers; used on
// the loop only.
@safe
@ServiceLoop
final class TLSEngine {
    enum Step<Value> {
        case done(Value)
        case wantsInput
        case ended
        case failed(String)
    }

    private static let chunk = 16_384

    private let connection: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer

    init(context: OpaquePointer, name: String, session: TLSClient.Session?) throws(TLSError) {
        guard let made = unsafe SSL_new(context) else {
            throw .setup(OpenSSLErrors.take() ?? "out of memory")
        }
        guard let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL is out of memory") }
        unsafe connection = made
        unsafe self.input = input
        unsafe self.output = output
        unsafe SSL_set_bio(connection, input, output)
        unsafe SSL_set_connect_state(connection)
        if let session { unsafe SSL_set_session(connection, session.raw) }
        try expect(name)
    }

    isolated deinit {
        // Without this call, OpenSSL would discard the session if no close_notify arrived.
        unsafe SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        unsafe SSL_free(connection)
    }

    private func expect(_ name: String) throws(TLSError) {
        var address = [UInt8](repeating: 0, count: 16)
        // SAFETY: 16 octets hold an address of either family.
        let isAddress =
            unsafe inet_pton(AF_INET, name, &address) == 1
            || inet_pton(AF_INET6, name, &address) == 1
        var isDone: Bool
        if isAddress {
            // A server name indication must not contain an address (RFC 6066 §3).
            isDone =
                unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name) == 1
        } else {
            unsafe SSL_set_hostflags(connection, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            isDone = unsafe SSL_set1_host(connection, name) == 1
            var text = Array(name.utf8CString)
            // SAFETY: the text ends with NUL and is copied.
            let status = unsafe text.withUnsafeMutableBytes {
                unsafe SSL_ctrl(
                    connection,
                    SSL_CTRL_SET_TLSEXT_HOSTNAME,
                    Int(TLSEXT_NAMETYPE_host_name),
                    $0.baseAddress
                )
            }
            isDone = isDone && status == 1
        }
        guard isDone else { throw .setup("`\(name)` is not a valid server name") }
    }
}

// MARK: - Steps

// SAFETY: the connection is alive, see the type.
extension TLSEngine {
    func handshake() -> Step<Void> {
        OpenSSLErrors.clear()
        let status = unsafe SSL_do_handshake(connection)
        return status == 1 ? .done(()) : outcome(of: status)
    }

    func read(upTo limit: Int) -> Step<[UInt8]> {
        OpenSSLErrors.clear()
        var status: Int32 = 0
        let octets = unsafe [UInt8](unsafeUninitializedCapacity: min(limit, Self.chunk)) {
            buffer,
            count in
            // SAFETY: OpenSSL writes at most the size of the buffer and returns the count.
            status = unsafe SSL_read(connection, buffer.baseAddress, Int32(buffer.count))
            count = max(0, Int(status))
        }
        return status > 0 ? .done(octets) : outcome(of: status)
    }

    func write(_ octets: [UInt8]) -> Step<Void> {
        precondition(!octets.isEmpty, "an empty write")
        OpenSSLErrors.clear()
        // SAFETY: exactly the array's octets are read.
        let status = unsafe SSL_write(connection, octets, Int32(octets.count))
        return status > 0 ? .done(()) : outcome(of: status)
    }

    func sendCloseNotify() {
        OpenSSLErrors.clear()
        _ = unsafe SSL_shutdown(connection)
        OpenSSLErrors.clear()
    }

    private func outcome<Value>(of status: Int32) -> Step<Value> {
        // SAFETY: `status` is the result of the latest OpenSSL call on the connection.
        switch unsafe SSL_get_error(connection, status) {
        case SSL_ERROR_WANT_READ: .wantsInput
        case SSL_ERROR_ZERO_RETURN: .ended
        default: .failed(OpenSSLErrors.take() ?? "connection aborted")
        }
    }
}

// MARK: - Octets

extension TLSEngine {
    func take(_ octets: [UInt8]) {
        // SAFETY: exactly the array's octets are copied.
        let count = unsafe BIO_write(input, octets, Int32(octets.count))
        precondition(count == octets.count, "OpenSSL is out of memory")
    }

    func give() -> [UInt8] {
        let waiting = unsafe BIO_ctrl_pending(output)
        guard waiting > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: waiting) { buffer, count in
            // SAFETY: OpenSSL writes at most the size of the buffer and returns the count.
            let status = unsafe BIO_read(output, buffer.baseAddress, Int32(buffer.count))
            count = max(0, Int(status))
        }
    }
}

// MARK: - Facts

// SAFETY: the connection is alive, see the type; OpenSSL's texts are static.
extension TLSEngine {
    var complaint: String? {
        let result = unsafe SSL_get_verify_result(connection)
        guard result != Int(X509_V_OK) else { return nil }
        return unsafe X509_verify_cert_error_string(result).map { unsafe String(cString: $0) }
            ?? "certificate error \(result)"
    }

    var isResumed: Bool { unsafe SSL_session_reused(connection) == 1 }

    var version: String {
        unsafe SSL_get_version(connection).map { unsafe String(cString: $0) } ?? ""
    }

    var session: TLSClient.Session? {
        // SAFETY: this function owns the reference, which it passes on or frees.
        guard let session = unsafe SSL_get1_session(connection) else { return nil }
        guard unsafe SSL_SESSION_is_resumable(session) == 1 else {
            unsafe SSL_SESSION_free(session)
            return nil
        }
        return unsafe TLSClient.Session(session)
    }
}
