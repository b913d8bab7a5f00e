// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A daemon with an emulated vendor and a real name server as upstream.
final class ProgramHarness: Sendable {
    let emulator: TestEmulator
    let upstream: TestUpstream
    let daemon: TestDaemon
    let front: TestNginx?

    private let failing: (any Sendable)?
    private let scratch: Scratch

    static let zone = """
        www.example.com 300 A 192.0.2.1
        www.example.com 300 A 192.0.2.2
        www.example.com 300 AAAA 2001:db8::1
        four.example.com 120 A 192.0.2.4
        six.example.com 120 AAAA 2001:db8::6
        none.example.com empty
        *.many.example.com 600 A 192.0.2.77

        """

    /// Routes example.com to the vendor.
    ///
    /// - Parameters:
    ///   - firstFaults: if not empty, the vendor has an additional server with these faults, which
    ///     is its first server.
    ///   - route, vendor: further YAML. The default `route` disables `fallback-after`, because the
    ///     emulated vendor may need more than the daemon's default of 400 ms on a loaded machine.
    ///   - options: arguments of the emulator.
    init(
        _ channel: VendorText.Channel = .aes,
        faults: [String] = [],
        firstFaults: [String] = [],
        route: String = "fallback-after: off",
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
            servers: [bad, good].compactMap(\.?.address),
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

    private struct Server: Sendable {
        let emulator: TestEmulator
        let front: TestNginx?

        var address: String { front.map { "127.0.0.1:\($0.port)" } ?? emulator.address }
    }

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
