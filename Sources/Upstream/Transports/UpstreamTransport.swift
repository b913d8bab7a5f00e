// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport to one server, which sends a query and returns the matching reply.
///
/// A transport matches ID and question. ``Forwarder`` checks the content.
@ServiceLoop
package protocol UpstreamTransport: AnyObject, Sendable {
    /// True if replies are encrypted and authenticated.
    nonisolated var isProtected: Bool { get }

    /// True if queries request AD and AD in replies is trusted.
    nonisolated var validates: Bool { get }

    /// Time after which a query is repeated; see ``Forwarding/repeatsAfter``.
    nonisolated var repeatsAfter: Duration? { get }

    /// Sends a query as ``Forwarding/ask(_:)``, but ends the attempt with a reply of any RCODE.
    func carry(_ attempt: Attempt)

    /// Number of sockets closed because of forged replies.
    var forgeries: UInt64 { get }

    func count(in numbers: inout UpstreamNumbers)

    /// Drops all connections after a network change; queries in flight are retried.
    func networkChanged()
}

extension UpstreamTransport {
    package var forgeries: UInt64 { 0 }
}
