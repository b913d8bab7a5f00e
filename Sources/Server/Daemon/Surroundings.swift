// SPDX-License-Identifier: Apache-2.0
internal import Acceleration
internal import DNSWire
internal import Net
internal import Resolver
internal import Upstream

/// The network and the clock that an assembly's parts find: what is not its own.
///
/// The system's, or in tests a world's.  Nothing else differs between the two.
@ServiceLoop
struct Surroundings {
    var clocks: Clocks

    /// What makes the cache's order and places unforeseeable.
    var seed: UInt64

    /// Makes what sends HTTP requests.
    var transport: () -> any HTTPTransport

    /// Makes the way to an upstream's server that is not asked over HTTPS: at this address, with TLS
    /// if there is a client for it.
    var way: (UpstreamSettings, SocketAddress, TLSClient?) -> any UpstreamTransport

    /// Finds out whether a server accepts connections.
    var probe: Probing.Probe

    /// Makes what answers in the kernel, of so many entries, of a cache with this origin, with a
    /// secret; nil where the kernel's clock is not that of `clocks`.
    var kernel: Kernel?

    /// See `kernel`.
    typealias Kernel =
        @Sendable (Int, ContinuousClock.Instant, UInt64) throws(AccelerationError) -> KernelAnswers

    /// Sockets and clock of the machine.
    static var system: Surroundings {
        Surroundings(
            clocks: .system,
            seed: .random(in: .min ... .max),
            transport: { HTTPClient() },
            way: way,
            probe: probe,
            kernel: kernel
        )
    }

    private nonisolated static func kernel(
        _ entries: Int,
        _ origin: ContinuousClock.Instant,
        _ seed: UInt64
    ) throws(AccelerationError) -> KernelAnswers {
        try KernelAnswers(entries: entries, origin: origin, seed: seed)
    }

    private static func way(
        of settings: UpstreamSettings,
        to address: SocketAddress,
        _ tls: TLSClient?
    ) -> any UpstreamTransport {
        if let tls {
            StreamTransport(
                to: address,
                tlsName: settings.url.host,
                tls: tls,
                validates: settings.validates
            )
        } else if settings.url.scheme == .tcp {
            StreamTransport(to: address, validates: settings.validates)
        } else {
            PlainTransport(to: address, validates: settings.validates)
        }
    }

    /// Whether somebody accepts a TCP connection, to whom nothing is sent.
    private static func probe(
        _ target: AddressRanking.Target,
        deadline: ContinuousClock.Instant
    ) async -> Bool {
        guard let address = SocketAddress(octets: target.address.octets, port: target.port),
            let connection = try? await StreamConnection.connect(to: address, deadline: deadline)
        else { return false }
        connection.close()
        return true
    }
}
