// SPDX-License-Identifier: Apache-2.0
import Testing

extension Child {
    static func unbound(
        _ server: String,
        _ clauses: String = "",
        scratch: Scratch,
        in namespace: Namespace? = nil
    ) throws -> Child {
        let file = try scratch.write(
            """
            remote-control:
                control-enable: no
            \(clauses)
            server:
                username: ""
                chroot: ""
                directory: "\(scratch.path)"
                pidfile: ""
                use-syslog: no
                logfile: ""
                verbosity: 1
                num-threads: 1
            \(server)

            """,
            to: "unbound.conf"
        )
        let program = try Child("unbound", ["-d", "-c", file], in: namespace)
        _ = try program.line(with: "start of service")
        return program
    }
}

/// Repeats `start`, because another process may take the free ports first.
func withFreePorts<Server>(_ start: () throws -> Server) throws -> Server {
    for _ in 0..<4 {
        if let server = try? start() { return server }
    }
    return try start()
}
