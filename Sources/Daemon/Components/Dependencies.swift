// SPDX-License-Identifier: Apache-2.0
internal import Acceleration
internal import Configuration
internal import DNSWire
internal import HTTPDNS
package import Net
internal import Resolver
internal import Upstream

/// Network, clocks and system calls of the components; tests replace them.
@ServiceLoop
package struct Dependencies {
    var clocks: Clocks
    var seed: UInt64
    var transport: (HTTPClient.Limits) -> any HTTPTransport

    /// Creates the transport for a protocol other than HTTPS.
    var way: (UpstreamSettings, SocketAddress, TLSClient?) -> any UpstreamTransport

    var probe: AddressProber.Probe

    /// Nil in tests that simulate the clock.
    var kernel: Kernel?

    var usage: any UsageStore = UsageMemory()

    var fleetState: FleetStateFile?

    var hasIPv6: @Sendable () -> Bool = { false }

    /// Address families with a route to the Internet.
    var stack: () -> NetworkStack = { .dual }

    var connect: StackProbe.Connect = { _, _ in true }

    var detected = DetectedStack()

    /// Translation of IPv4 server addresses for a NAT64.
    var translation = AddressTranslation()

    /// The watch ends when the returned object is released.
    var resolverFile: ResolverFile = { _, _, _ in nil }

    /// Nil in tests.
    var resolvers: Resolvers = { _, _ in nil }

    typealias ResolverFile =
        @ServiceLoop (
            _ path: String,
            _ report: @escaping @ServiceLoop (String) -> Void,
            _ handler: @escaping ResolverFileWatch.Handler
        ) -> AnyObject?

    typealias Resolvers =
        @ServiceLoop (
            _ report: @escaping @ServiceLoop (String) -> Void,
            _ handler: @escaping @ServiceLoop ([LinkResolvers]) -> Void
        ) -> ResolverWatch?

    typealias Kernel =
        @Sendable (Int, Instant, UInt64) throws(AccelerationError) -> KernelAnswers

    static var system: Dependencies {
        Dependencies(
            clocks: .system,
            seed: .random(in: .min ... .max),
            transport: { HTTPClient(limits: $0) },
            way: way,
            probe: probe,
            kernel: kernel,
            usage: usageFile,
            fleetState: fleetState,
            hasIPv6: { hasGlobalIPv6() },
            stack: NetworkStack.ofMachine,
            connect: { await StackProbe.connects(to: $0, $1) },
            resolverFile: { ResolverFileWatch($0, report: $1, $2) },
            resolvers: { ResolverWatch(report: $0, $1) }
        )
    }

    func http(_ limits: HTTPClient.Limits = HTTPClient.Limits()) -> any HTTPTransport {
        TranslatingTransport(transport(limits), translation)
    }

    /// Limits of the HTTP client of all vendors.
    ///
    /// Without HTTP/2, each call can need two connections because of `hedge-after`. A request that
    /// waits in libcurl for a connection would count as unanswered by the vendor.
    static let vendorLimits: HTTPClient.Limits = {
        var limits = HTTPClient.Limits()
        limits.connections = 2 * SettingsLimits.concurrentCallsTogether + 32
        limits.connectionsPerServer = limits.connections
        return limits
    }()

    package nonisolated static func hasGlobalIPv6() -> Bool {
        // k.root-servers.net; no packet is sent.
        guard let target = SocketAddress("[2001:7fd::1]:53"),
            let own = SocketAddress.source(towards: target)
        else { return false }
        return IPAddress(octets: own.octets)?.reach == .global
    }

    /// In the directory `$STATE_DIRECTORY`, by default /var/lib/httpdnsd.
    private static let usageFile = UsageFile(directory: stateDirectory)

    private static let fleetState = FleetStateFile(directory: stateDirectory)

    private static var stateDirectory: String {
        SettingsEnvironment.stateDirectory ?? "/var/lib/httpdnsd"
    }

    private nonisolated static func kernel(
        _ entries: Int,
        _ origin: Instant,
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

    private static func probe(_ target: AddressRanking.Target, deadline: Instant) async -> Bool {
        guard let address = SocketAddress(octets: target.address.octets, port: target.port),
            let connection = try? await StreamConnection.connect(to: address, deadline: deadline)
        else { return false }
        connection.close()
        return true
    }
}
