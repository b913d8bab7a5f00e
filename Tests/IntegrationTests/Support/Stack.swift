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
    ///   - deadServers: addresses of servers that the vendor's real one comes after.
    ///   - route: more lines of the route's YAML, such as `fallback: none`.
    ///   - vendor: more lines of the vendor's YAML, such as `timeout: 500ms`.
    init(
        _ channel: VendorText.Channel = .aes,
        faults: [String] = [],
        deadServers: [String] = [],
        route: String = "",
        vendor: String = "",
        settings: String = ""
    ) throws {
        scratch = try Scratch()
        emulator = try TestEmulator(zone: Self.zone, faults: faults)
        upstream = try TestUpstream()
        var server = emulator.address
        if channel == .https {
            let front = try TestNginx(
                [.front(for: server)],
                backend: server,
                authority: Authority()
            )
            server = "127.0.0.1:\(front.port)"
            self.front = front
        } else {
            front = nil
        }
        let vendor = try VendorText(
            channel,
            servers: deadServers + [server],
            in: scratch,
            authority: front?.authority.file,
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
}
