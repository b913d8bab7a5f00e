// SPDX-License-Identifier: Apache-2.0
import Testing

final class ForwardingUnbound: Sendable {
    let port: UInt16
    private let program: Child
    private let scratch: Scratch

    /// - Parameter anchor: the trust anchor; if nil, unbound does not validate. The validator
    ///   ignores the dates of signatures.
    init(before upstream: TestUpstream, anchor: String? = nil) throws {
        let scratch = try Scratch()
        self.scratch = scratch
        (port, program) = try withFreePorts {
            let port = try freePort()
            let program = try Child.unbound(
                ForwardingUnbound.server(port, anchor),
                "forward-zone:\n    name: \".\"\n    forward-addr: 127.0.0.1@\(upstream.port)",
                scratch: scratch
            )
            return (port, program)
        }
    }

    deinit { _ = try? program.stop() }

    private static func server(_ port: UInt16, _ anchor: String?) -> String {
        """
            interface: 127.0.0.1
            port: \(port)
            module-config: "\(anchor == nil ? "" : "validator ")iterator"
            \(anchor.map { "trust-anchor: \"\($0)\"" } ?? "")
            \(anchor == nil ? "" : "val-override-date: \"-1\"")
            do-not-query-localhost: no
            minimal-responses: yes
            rrset-roundrobin: no
            edns-buffer-size: 1232
            max-udp-size: 1232
            outgoing-range: 64
        """
    }
}
