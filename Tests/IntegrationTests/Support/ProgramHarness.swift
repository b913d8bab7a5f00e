// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A daemon with an emulated vendor and a real name server as upstream.
///
/// TLS is terminated by nginx if the channel has TLS.
final class ProgramHarness: Sendable {
    let emulator: TestEmulator
    let upstream: TestUpstream
    let daemon: TestDaemon
    let front: TestNginx?

    /// Owner of the failing server that precedes `emulator`, if any.
    private let failing: (any Sendable)?
    private let scratch: Scratch

    /// Names of the vendor.
    static let zone = """
        www.example.com 300 A 192.0.2.1
        www.example.com 300 A 192.0.2.2
        www.example.com 300 AAAA 2001:db8::1
        four.example.com 120 A 192.0.2.4
        six.example.com 120 AAAA 2001:db8::6
        none.example.com empty
        *.many.example.com 600 A 192.0.2.77

        """

    /// Starts all programs, with a route for example.com to the vendor.
    ///
    /// - Parameters:
    ///   - firstFaults: faults of an additional first server of the vendor.
    ///   - deadServers: addresses of additional first servers of the vendor.
    ///   - route: further YAML lines of the route, such as `fallback: none`.
    ///   - vendor: further YAML lines of the vendor, such as `timeout: 500ms`.
    ///   - options: further arguments of the emulator.
    init(
        _ channel: VendorText.Channel = .aes,
        faults: [String] = [],
        firstFaults: [String] = [],
        deadServers: [String] = [],
        route: String = "",
        vendor: String = "",
        settings: String = "",
        emulator options: [String] = []
    ) throws {
        scratch = try Scratch()
        upstream = try TestUpstream()
        let authority = channel == .https ? try Authority() : nil
        let good = try Self.server(faults: faults, authority, options)
        (emulator, front) = (good.emulator, good.front)
        let bad = firstFaults.isEmpty ? nil : try Self.server(faults: firstFaults, authority)
        failing = bad
        let vendor = try VendorText(
            channel,
            servers: deadServers + [bad, good].compactMap(\.?.address),
            in: scratch,
            authority: authority?.file,
            extra: vendor
        )
        daemon = try TestDaemon(
            """
            \(vendor.text)
            routes:
              - domains: [example.com]
                vendors: [tencent]
                \(route)
            \(upstream.text)
            \(settings)
            """
        )
    }
    /// One server of the vendor.
    private struct Server: Sendable {
        let emulator: TestEmulator
        let front: TestNginx?

        /// Address for the daemon.
        var address: String { front.map { "127.0.0.1:\($0.port)" } ?? emulator.address }
    }

    /// Starts a server of the vendor, behind TLS if `authority` is given.
    private static func server(
        faults: [String],
        _ authority: Authority?,
        _ options: [String] = []
    ) throws -> Server {
        let emulator = try TestEmulator(zone: zone, faults: faults, options: options)
        let front = try authority.map {
            try TestNginx([.front()], backend: emulator.address, authority: $0)
        }
        return Server(emulator: emulator, front: front)
    }
}
