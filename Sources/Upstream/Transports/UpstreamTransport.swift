// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport to one server, which sends a query and returns the matching reply.
///
/// A transport checks ID and question of a reply; ``Forwarder`` checks the content.
@ServiceLoop
package protocol UpstreamTransport: AnyObject, Sendable {
    nonisolated var isProtected: Bool { get }

    nonisolated var validates: Bool { get }

    nonisolated var repeatsAfter: Duration? { get }

    /// Sends a query like ``Forwarding/ask(_:)``, but a reply with any RCODE is a success.
    func carry(_ attempt: Attempt)

    var forgeries: UInt64 { get }

    func count(in numbers: inout UpstreamNumbers)

    func networkChanged()
}

extension UpstreamTransport {
    package var forgeries: UInt64 { 0 }
}
