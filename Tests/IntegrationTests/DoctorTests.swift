// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private struct Stranger {
    let program: Child
    private let scratch: Scratch

    init(on addresses: [String], in namespace: Namespace) throws {
        scratch = try Scratch()
        program = try .unbound(
            """
                \(addresses.map { "interface: \($0)" }.joined(separator: "\n    "))
                access-control: 0.0.0.0/0 allow
                local-zone: "example.com." static
            """,
            scratch: scratch,
            in: namespace
        )
    }
}

@Suite("Doctor on real machines", .needs(.unshare, .ip, .unbound), .hangLimit)
struct DoctorTests {
    private func findings(
        _ namespace: Namespace,
        _ arguments: [String],
        status: Int32 = 4
    ) throws -> [String: [JSON]] {
        let end = try namespace.run(Product.control, arguments + ["doctor", "--json"])
        #expect(end.status == status, "\(end.output)\(end.errors)")
        return Dictionary(grouping: try JSON(end.output)["findings"].array) {
            $0["check"].string ?? ""
        }
    }

    @Test("doctor names the process that uses the daemon's port")
    func holder() throws {
        let namespace = try Namespace()
        let stranger = try Stranger(on: ["127.0.0.1"], in: namespace)
        let found = try findings(namespace, ["--socket", "/run/none.sock"])
        for transport in ["udp", "tcp"] {
            let what =
                "127.0.0.1:53 (\(transport)) is used by unbound (pid \(stranger.program.pid))"
            let finding = try #require(found["port-53"]?.first { $0["what"].string == what })
            #expect(finding["state"].string == "failure")
            #expect(finding["fix"].string?.contains("systemctl disable --now unbound") == true)
        }
        #expect(found["daemon"]?.first?["state"].string == "failure")
        try stranger.program.stop()
    }

    @Test("doctor reports whether getaddrinfo uses the daemon")
    func asked() throws {
        let namespace = try Namespace(addresses: ["192.0.2.10/24"])
        let daemon = try TestDaemon(
            """
            hosts: {records: {printer.example.com: [192.0.2.9]}}
            upstreams: [{name: unused, url: "udp://127.0.0.9"}]
            """,
            listen: "127.0.0.1:53",
            in: namespace
        )
        let socket = ["--socket", daemon.socket]
        var found = try findings(namespace, socket)
        for check in ["daemon", "version", "port-53", "answers", "resolv-conf", "getaddrinfo"] {
            let states = found[check]?.compactMap { $0["state"].string }
            #expect(
                states == ["ok"],
                "\(check): \(found[check]?.compactMap { $0["what"].string } ?? [])"
            )
        }
        #expect(found["settings"]?.first?["what"].string == "\(daemon.file) is valid and in force")
        try namespace.setResolver("nameserver 127.0.0.7\noptions attempts:1 timeout:2\n")
        found = try findings(namespace, socket)
        #expect(found["resolv-conf"]?.first?["state"].string == "failure")
        #expect(found["resolv-conf"]?.first?["fix"].string == "httpdnsctl setup apply")
        #expect(found["getaddrinfo"]?.first?["state"].string == "failure")
        try daemon.stop()
    }

    @Test("with `--name`, doctor compares the answers of getaddrinfo and the daemon")
    func compared() throws {
        let namespace = try Namespace(addresses: ["192.0.2.10/24"])
        let daemon = try TestDaemon(
            """
            hosts: {records: {printer.example.com: [192.0.2.9]}}
            upstreams: [{name: unused, url: "udp://127.0.0.9"}]
            """,
            listen: "127.0.0.1:53",
            in: namespace
        )
        let arguments = ["--socket", daemon.socket]
        let name = ["doctor", "--json", "--name", "printer.example.com"]
        var end = try namespace.run(Product.control, arguments + name)
        #expect(end.output.contains("getaddrinfo uses the daemon"), "\(end.output)")
        let etc =
            "printf '198.51.100.7 printer.example.com\\n' > /run/hosts"
            + " && mount --bind /run/hosts /etc/hosts"
        #expect(try namespace.run("sh", ["-c", "mount -t tmpfs none /run && " + etc]).status == 0)
        end = try namespace.run(Product.control, arguments + name)
        #expect(
            end.output.contains(
                "printer.example.com: programs get 198.51.100.7, but the daemon answers 192.0.2.9"
            ),
            "\(end.output)"
        )
        try daemon.stop()
    }

    @Test("doctor detects interception of DNS, but only with `--network`")
    func intercepted() throws {
        let namespace = try Namespace(addresses: ["192.0.2.1/32"])
        let stranger = try Stranger(on: ["192.0.2.1"], in: namespace)
        let arguments = ["--socket", "/run/none.sock"]
        let quiet = try findings(namespace, arguments)
        #expect(quiet["interception"]?.first?["state"].string == "skipped")
        let end = try namespace.run(Product.control, arguments + ["doctor", "--network"])
        #expect(end.status == 4)
        #expect(end.output.contains("DNS server: 192.0.2.1 over udp, 192.0.2.1 over tcp"))
        try stranger.program.stop()
    }
}
