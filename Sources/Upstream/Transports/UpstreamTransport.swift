// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// A way to one server: carries a query there, and the reply to exactly this query back.
///
/// It judges what is a reply, not whether that is an answer, and counts only what it alone can know:
/// the rest is ``Forwarder``'s.
@ServiceLoop
package protocol UpstreamTransport: AnyObject, Sendable {
    /// Whether what it brings is safe from being read and changed on the way.
    nonisolated var isProtected: Bool { get }

    /// Whether it asks for AD, and its server is believed when it says it.
    nonisolated var validates: Bool { get }

    /// See ``Forwarding/repeatsAfter``.
    nonisolated var repeatsAfter: Duration? { get }

    /// Carries a query; `tell` is called once, perhaps before this returns.
    ///
    /// - Parameters:
    ///   - earlier: when the same was asked in vain, if it was: not on a connection that has been
    ///     silent since.
    ///   - place: told what is known of the exchange, if somebody traces it.
    ///   - tell: gets a whole reply, whatever its RCODE.
    func carry(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    )

    /// See ``Forwarding/forgeries``.
    var forgeries: UInt64 { get }

    /// Puts what it has counted where it belongs.
    func count(in numbers: inout UpstreamNumbers)

    /// Drops what belongs to the network as it was: connections.  Queries under way are asked again.
    func networkChanged()
}

extension UpstreamTransport {
    package var forgeries: UInt64 { 0 }
}
