// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

package enum TLSError: Error, Hashable {
    case setup(String)

    case socket(SocketError)

    case untrusted(String)

    case handshake(String)
}

extension TLSError {
    /// True if the resumption of a session can be the cause.
    var mayBeOfSession: Bool {
        switch self {
        case .socket(.closed), .handshake: true
        case .socket(let error): error.isReset
        case .setup, .untrusted: false
        }
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .setup(let why): "TLS: \(why)"
        case .socket(let error): "\(error)"
        case .untrusted(let why): "TLS: \(why)"
        case .handshake(let why): "TLS: \(why)"
        }
    }
}

enum OpenSSLErrors {
    static func clear() { ERR_clear_error() }

    static func take() -> String? {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return nil }
        // SAFETY: the text is static, or nil for codes without a text.
        return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
            ?? "error \(code)"
    }
}
