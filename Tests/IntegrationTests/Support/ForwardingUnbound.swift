// SPDX-License-Identifier: Apache-2.0
import Testing

final class ForwardingUnbound: Sendable {
    let port: UInt16
    private let program: Child
    private let scratch: Scratch

    /// Starts unbound in front of `upstream`.
    ///
    /// - Parameter anchor: the trust anchor, used at any date; nil disables validation.
    init(before upstream: TestUpstream, anchor: String? = nil) throws {
        scratch = try Scratch()
        var failure: (any Error)?
        // Another process may take the chosen port first.
        for _ in 0..<5 {
            let port = try freePort()
            let file = try scratch.write(
                Self.settings(port, scratch.path, upstream: upstream.port, anchor),
                to: "unbound.conf"
            )
            let program = try Child("unbound", ["-d", "-c", file])
            do {
                _ = try program.line(with: "start of service")
                (self.port, self.program) = (port, program)
                return
            } catch {
                failure = error
            }
        }
        throw try #require(failure)
    }

    deinit { _ = try? program.stop() }

    private static func settings(
        _ port: UInt16,
        _ directory: String,
        upstream: UInt16,
        _ anchor: String?
    ) -> String {
        """
        server:
            interface: 127.0.0.1
            port: \(port)
            username: ""
            chroot: ""
            directory: "\(directory)"
            pidfile: ""
            use-syslog: no
            logfile: ""
            verbosity: 1
            num-threads: 1
            module-config: "\(anchor == nil ? "" : "validator ")iterator"
            \(anchor.map { "trust-anchor: \"\($0)\"" } ?? "")
            \(anchor == nil ? "" : "val-override-date: \"-1\"")
            do-not-query-localhost: no
            minimal-responses: yes
            rrset-roundrobin: no
            edns-buffer-size: 1232
            max-udp-size: 1232
            outgoing-range: 64
        remote-control:
            control-enable: no
        forward-zone:
            name: "."
            forward-addr: 127.0.0.1@\(upstream)
        """
    }
}
