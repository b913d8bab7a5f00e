// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// Why there is no connection over TLS.
package enum TLSError: Error, Hashable {
    /// The certificates to trust cannot be read, or OpenSSL refuses to work: its words.
    case setup(String)

    /// No connection to encrypt, or none any more.
    case socket(SocketError)

    /// The peer did not prove who it is: OpenSSL's words about its certificate.
    case untrusted(String)

    /// The two sides could not agree, or the peer does not speak TLS.
    case handshake(String)
}

extension TLSError: CustomStringConvertible {
    /// The fault in a few words.
    package var description: String {
        switch self {
        case .setup(let why): "TLS: \(why)"
        case .socket(let error): "\(error)"
        case .untrusted(let why): "TLS: \(why)"
        case .handshake(let why): "TLS: \(why)"
        }
    }
}

/// OpenSSL's queue of errors, one a thread.
enum OpenSSLErrors {
    /// Empties the queue; to be done before calls whose errors are asked for.
    static func clear() { ERR_clear_error() }

    /// The reason of the latest error, and an empty queue; nil if there is none.
    static func take() -> String? {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return nil }
        // SAFETY: the text is static, or nil for codes that OpenSSL has no words for.
        return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
            ?? "error \(code)"
    }
}
