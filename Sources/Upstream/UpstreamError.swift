// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

/// Why an upstream gave no answer.
package enum UpstreamError: Error, Hashable {
    /// Nothing that answers the query came in time.
    case timedOut

    /// No way there, or nobody who listens: the system's words.
    case unreachable(String)

    /// It answered that it could not or would not (SERVFAIL, REFUSED, …), perhaps saying why
    /// (RFC 8914).
    case declined(RCode, because: ExtendedError? = nil)

    /// Its stream broke off or carried something else than the reply.
    case broken(String)

    /// It did not prove who it is, so nothing was asked (RFC 8310 §5): OpenSSL's words.
    case untrusted(String)

    /// It asks us what we ask it.
    case loop

    /// An operator has paused it, so it was not asked.
    case paused

    /// A limit of this daemon or of the machine, which says nothing about the server.
    case exhausted(String)
}

extension UpstreamError: CustomStringConvertible {
    /// The fault in a few words.
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .unreachable(let why): why
        case .declined(.noError, because: _): "answered with a referral"
        case .declined(let rcode, because: let code?): "answered \(rcode) (\(code))"
        case .declined(let rcode, because: nil): "answered \(rcode)"
        case .broken(let why): why
        case .untrusted(let why): "cannot be trusted: \(why)"
        case .loop: "leads back to this server"
        case .paused: "paused by an operator"
        case .exhausted(let why): why
        }
    }

    /// The name under which it is counted.
    package var kind: String {
        switch self {
        case .timedOut: "timeout"
        case .unreachable: "unreachable"
        case .declined: "declined"
        case .broken: "broken"
        case .untrusted: "untrusted"
        case .loop: "loop"
        case .paused: "paused"
        case .exhausted: "exhausted"
        }
    }

    /// Whether the server did answer, if only to say no.
    var isDecline: Bool { if case .declined = self { true } else { false } }

    /// Whether it says nothing about the server.
    var isOurs: Bool { if case .exhausted = self { true } else { false } }
}

// MARK: - Faults of others

extension UpstreamError {
    /// A reply that is no answer: its RCODE, and the reason if it says one.
    init(_ message: Message) {
        self = .declined(message.rcode, because: message.edns?.extendedErrors.first?.code)
    }

    /// A socket's fault as the upstream's.
    init(_ error: SocketError) {
        switch error {
        case .timedOut: self = .timedOut
        case .closed: self = .broken("closed the connection before the reply")
        case .broken(let why): self = .broken(why)
        case _ where error.isShortage: self = .exhausted(error.description)
        default: self = .unreachable(error.description)
        }
    }

    /// The fault of a handshake as the upstream's.
    init(_ error: TLSError) {
        switch error {
        case .socket(.closed): self = .broken("closed the connection before the handshake")
        case .socket(let error): self.init(error)
        case .untrusted(let why): self = .untrusted(why)
        case .handshake(let why), .setup(let why): self = .broken("TLS: \(why)")
        }
    }

    /// A transfer's fault as the upstream's.
    init(_ error: HTTPError) {
        switch error {
        case .timedOut: self = .timedOut
        case .connect(let why): self = .unreachable(why)
        case .exhausted(let why): self = .exhausted(why)
        case .tls(let why): self = .untrusted(why)
        case .broken(let why), .invalidRequest(let why): self = .broken(why)
        case .bodyTooLarge(let limit): self = .broken("sent more than \(limit) octets")
        case .cancelled: self = .broken("was given up")
        }
    }
}
