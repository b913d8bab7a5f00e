// SPDX-License-Identifier: Apache-2.0
import Testing

/// Unbound as a forwarder that does what the daemon does: no validation, nothing of its own.
final class ForwardingUnbound: Sendable {
    let port: UInt16
    private let program: Child
    private let scratch: Scratch

    /// Starts it before `upstream`, on a port that is free for UDP and TCP.
    init(before upstream: TestUpstream) throws {
        scratch = try Scratch()
        var failure: (any Error)?
        // It cannot be told to take any free port: somebody may take the one found before it does.
        for _ in 0..<5 {
            let port = try freePort()
            let file = try scratch.write(
                Self.settings(port, scratch.path, upstream: upstream.port),
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

    private static func settings(_ port: UInt16, _ directory: String, upstream: UInt16) -> String {
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
            module-config: "iterator"
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
