// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Everything a daemon is put between: a vendor's stand-in, TLS before it if the channel has it,
/// and a real name server as the upstream.
final class Stack: Sendable {
    let emulator: TestEmulator
    let upstream: TestUpstream
    let daemon: TestDaemon
    let front: TestNginx?

    /// What keeps the server alive that comes before `emulator`, if there is one.
    private let failing: (any Sendable)?
    private let scratch: Scratch

    /// What the vendor knows.
    static let zone = """
        www.example.com 300 A 192.0.2.1
        www.example.com 300 A 192.0.2.2
        www.example.com 300 AAAA 2001:db8::1
        four.example.com 120 A 192.0.2.4
        six.example.com 120 AAAA 2001:db8::6
        none.example.com empty
        *.many.example.com 600 A 192.0.2.77

        """

    /// Starts all of it; names below example.com are the vendor's.
    ///
    /// - Parameters:
    ///   - firstFaults: what a server does that the vendor's real one comes after.
    ///   - deadServers: addresses of servers that the vendor's real one comes after.
    ///   - route: more lines of the route's YAML, such as `fallback: none`.
    ///   - vendor: more lines of the vendor's YAML, such as `timeout: 500ms`.
    ///   - emulator: more of the emulator's command line.
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

        /// What it is asked at.
        var address: String { front.map { "127.0.0.1:\($0.port)" } ?? emulator.address }
    }

    /// Starts a server of the vendor, behind TLS if there is an authority for that.
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
