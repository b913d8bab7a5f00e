// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct ResolverCertificate {
    static let name = "dns.example.net"

    let authority: Authority
    let scratch: Scratch
    var certificate: String { scratch.file("server.pem") }
    var key: String { scratch.file("server.key") }

    init() throws {
        authority = try Authority()
        scratch = try Scratch()
        try authority.issue("server", for: ["DNS:\(Self.name)", "IP:127.0.0.1"], in: scratch)
    }
}

struct ResolverPorts: Sendable {
    enum Channel: String, CaseIterable, Sendable {
        case udp, tcp, tls, https
    }

    let plain: UInt16
    let tls: UInt16
    let https: UInt16

    init() throws { (plain, tls, https) = (try freePort(), try freePort(), try freePort()) }

    func entry(
        _ channel: Channel,
        authority: Authority,
        name: String = ResolverCertificate.name,
        extra: String = ""
    ) -> String {
        let certificates = "addresses: [127.0.0.1], ca-file: \(authority.file)"
        return switch channel {
        case .udp, .tcp:
            "{name: \(channel), url: \"\(channel)://127.0.0.1:\(plain)\"\(extra)}"
        case .tls:
            "{name: tls, url: \"tls://\(name):\(tls)\", \(certificates)\(extra)}"
        case .https:
            "{name: https, url: \"https://\(name):\(https)/dns-query\", \(certificates)\(extra)}"
        }
    }
}

final class TestUnbound: Sendable {
    let ports: ResolverPorts
    let program: Child
    private let scratch: Scratch

    init(
        _ certificate: ResolverCertificate,
        ports: ResolverPorts? = nil,
        forwarding: UInt16? = nil
    ) throws {
        let scratch = try Scratch()
        self.scratch = scratch
        let forward = forwarding.map {
            "forward-zone:\n    name: \".\"\n    forward-addr: 127.0.0.1@\($0)"
        }
        (self.ports, program) = try withFreePorts {
            let own = try ports ?? ResolverPorts()
            let server = TestUnbound.server(own, certificate, isAlone: forwarding == nil)
            return (own, try Child.unbound(server, forward ?? "", scratch: scratch))
        }
    }

    func keeping(_ body: (TestUnbound) throws -> Void) rethrows {
        try withExtendedLifetime(self) { try body(self) }
    }

    private static func server(
        _ ports: ResolverPorts,
        _ certificate: ResolverCertificate,
        isAlone: Bool
    ) -> String {
        let texts = (0..<20).map { number in
            "    local-data: 'big.example.org. 300 IN TXT \"\(number)-"
                + String(repeating: "x", count: 200) + "\"'"
        }
        return """
                interface: 127.0.0.1@\(ports.plain)
                interface: 127.0.0.1@\(ports.tls)
                interface: 127.0.0.1@\(ports.https)
                port: \(ports.plain)
                tls-port: \(ports.tls)
                https-port: \(ports.https)
                tls-service-key: "\(certificate.key)"
                tls-service-pem: "\(certificate.certificate)"
                module-config: "iterator"
                do-not-query-localhost: no
                ede: yes
                local-zone: "example.org." \(isAlone ? "static" : "transparent")
                local-data: "example.org. 300 IN SOA ns. root. 1 2 3 4 60"
                local-data: "www.example.org. 300 IN A 192.0.2.7"
                local-data: "www.example.org. 300 IN AAAA 2001:db8::7"
            \(texts.joined(separator: "\n"))
                local-zone: "many.example.org." redirect
                local-data: "many.example.org. 300 IN A 192.0.2.8"
                local-zone: "refused.example.org." always_refuse
            """
    }
}

/// A dnsdist process that serves DNS over TLS and HTTPS, and forwards queries to a name server.
final class TestDnsdist: Sendable {
    let ports: ResolverPorts
    private let program: Child
    private let scratch: Scratch

    init(_ certificate: ResolverCertificate, backend: UInt16) throws {
        let scratch = try Scratch()
        self.scratch = scratch
        (ports, program) = try withFreePorts {
            let ports = try ResolverPorts()
            let pair = "\"\(certificate.certificate)\", \"\(certificate.key)\""
            let file = try scratch.write(
                """
                setLocal("127.0.0.1:\(ports.plain)")
                addTLSLocal("127.0.0.1:\(ports.tls)", \(pair))
                addDOHLocal("127.0.0.1:\(ports.https)", \(pair), "/dns-query")
                newServer({address="127.0.0.1:\(backend)"}):setUp()
                setSecurityPollSuffix("")
                """,
                to: "dnsdist.conf"
            )
            let program = try Child("dnsdist", ["--supervised", "--disable-syslog", "-C", file])
            _ = try program.line(with: "Console ACL allowing connections")
            return (ports, program)
        }
    }
}
