// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Why an upstream gave no answer.
package enum UpstreamError: Error, Hashable {
    /// Nothing that answers the query came in time.
    case timedOut

    /// No way there, or nobody who listens: the system's words.
    case unreachable(String)

    /// It answered that it could not or would not (SERVFAIL, REFUSED, …).
    case declined(RCode)

    /// Its TCP side broke off or sent something else than the reply.
    case broken(String)
}

extension UpstreamError: CustomStringConvertible {
    /// The fault in a few words.
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .unreachable(let why): why
        case .declined(let rcode): "answered \(rcode)"
        case .broken(let why): why
        }
    }

    /// The name under which it is counted.
    package var kind: String {
        switch self {
        case .timedOut: "timeout"
        case .unreachable: "unreachable"
        case .declined: "declined"
        case .broken: "broken"
        }
    }
}
