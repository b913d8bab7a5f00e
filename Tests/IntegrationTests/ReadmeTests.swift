// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private struct Form {
    let command: String

    var instead: String?

    var ends: Set<Int32> = [0]

    var prints = ""

    init(
        _ command: String,
        as instead: String? = nil,
        ends: Set<Int32> = [0],
        prints: String = ""
    ) {
        self.command = command
        self.instead = instead
        self.ends = ends
        self.prints = prints
    }
}

private final class Machine {
    let namespace: Namespace
    let scratch: Scratch
    private var programs: [Child] = []

    init() throws {
        namespace = try Namespace(nameserver: "192.0.2.53")
        scratch = try Scratch()
        let end = try namespace.run(
            "sh",
            [
                "-ec",
                """
                cp -a /etc "$1/etc"
                # In a container it is mounted, and then it cannot be replaced.
                while umount /etc/resolv.conf 2>/dev/null; do :; done
                mount --bind "$1/etc" /etc
                mount -t tmpfs none /run
                mount -t tmpfs none /var/lib
                mkdir -p /run/httpdnsd /etc/httpdnsd
                """, "sh", scratch.path,
            ]
        )
        try #require(end.status == 0, "\(end.errors)")
        // This `sudo` only executes its arguments, because the test already runs as root.
        try scratch.write("#!/bin/sh\nexec \"$@\"\n", to: "sudo", mode: 0o755)
    }

    func start(_ program: String, _ arguments: [String]) throws -> Child {
        let child = try Child(program, arguments, environment: environment, in: namespace)
        programs.append(child)
        return child
    }

    func run(_ line: String) throws -> Child.End {
        let command = "cd '\(repositoryPath("."))' && { \(line)\n}"
        return try Child("bash", ["-c", command], environment: environment, in: namespace)
            .end(within: 120)
    }

    private var environment: [String: String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"
        return ["PATH": "\(scratch.path):\(programsPath):\(path)", "HOME": scratch.path]
    }
}

private let programsPath = URL(filePath: Product.daemon).deletingLastPathComponent().path

@Suite(
    "Commands of README.md and docs/operations.md",
    .needs(.unshare, .ip, .dig, .curl),
    .hangLimit,
    .serialized
)
struct ReadmeTests {
    private static func blocks(_ page: String = "README.md") throws -> [[String]] {
        try repository(page).matches(of: #/(?s)```sh\n(.*?)```/#).map { block in
            block.1.split(separator: "\n").map { line in
                String(line.prefix(upTo: line.firstRange(of: " #")?.lowerBound ?? line.endIndex))
                    .trimmingCharacters(in: .whitespaces)
            }
        }
    }

    private func run(
        _ index: Int,
        of page: String = "README.md",
        _ forms: [Form],
        on machine: Machine,
        after begin: String = ":"
    ) throws {
        let commands = try Self.blocks(page)[index]
        #expect(
            commands == forms.map(\.command),
            "the commands of \(page) have changed: update the forms"
        )
        for form in forms {
            let end = try machine.run("\(begin)\n\(form.instead ?? form.command)")
            let said = "\(form.command): \(end.status)\n\(end.output)\(end.errors)"
            #expect(form.ends.contains(end.status), "\(said)")
            #expect(form.prints.isEmpty || end.output.contains(form.prints), "\(said)")
        }
    }

    @Test("each block of commands in README.md has a test")
    func count() throws { #expect(try Self.blocks().count == 5) }

    @Test("the commands for the demo and for the installation work")
    func two() throws {
        let machine = try Machine()
        try run(
            0,
            [
                Form(
                    "scripts/demo",
                    as: "scripts/demo --bin '\(programsPath)'",
                    prints: "All checks passed."
                ),
                Form(
                    "scripts/install",
                    as:
                        "scripts/install --bin '\(programsPath)' --destdir '\(machine.scratch.path)/tree'",
                    prints: "Installed"
                ),
            ],
            on: machine
        )
    }

    @Test("the commands of \"Try it\" work with the demo")
    func tour() throws {
        let machine = try Machine()
        let demo = try machine.start(
            repositoryPath("scripts/demo"),
            ["--bin", programsPath, "--stay"]
        )
        let line = try demo.line(with: "   source /")
        try run(
            1,
            [
                Form("ask www.example.com", prints: "192.0.2.1"),
                Form("ask www.example.com AAAA", prints: "2001:db8::1"),
                Form("httpdnsctl status", prints: "READY"),
                Form("httpdnsctl explain www.example.com", prints: "httpdnsd.yaml:"),
                Form("fault silent", prints: "active faults: 1"),
                Form("ask www.example.com", prints: "192.0.2.1"),
                Form("ask six.example.com AAAA", prints: "EDE: "),
                Form("httpdnsctl status", ends: [4], prints: "DEGRADED"),
                Form("fault", prints: "active faults: 0"),
            ],
            on: machine,
            after: line
        )
        try drills(on: machine, after: line)
        demo.send(SIGINT)
        let end = try demo.end()
        #expect(end.status == 0 && end.output.contains("All checks passed."), "\(end.errors)")
    }

    private func drills(on machine: Machine, after line: String) throws {
        let page = "docs/operations.md"
        #expect(try Self.blocks(page).count == 4)
        try run(
            2,
            of: page,
            [
                Form(
                    "journalctl -u httpdnsd -p warning HTTPDNSD_VENDOR=tencent",
                    as: "journalctl --version"
                ),
                Form(
                    "systemctl kill -s USR1 httpdnsd",
                    as: "kill -s USR1 $(httpdnsctl --json status | jq .pid)"
                ),
            ],
            on: machine,
            after: line
        )
        try run(
            3,
            of: page,
            [
                Form("mkdir \"$settings.d\""),
                Form(
                    "echo 'upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]' >\"$settings.d/isp.yaml\""
                ),
                Form("httpdnsctl check && httpdnsctl reload", prints: "upstreams.isp"),
            ],
            on: machine,
            after: line
        )
        let faults = try repository(page).matches(of: #/`(fault [a-z][^`]*)`/#).map { String($0.1) }
        #expect(faults.count > 10)
        for fault in faults {
            let end = try machine.run("\(line)\n\(fault)")
            #expect(
                end.output.contains("active faults: 1"),
                "\(fault): \(end.output)\(end.errors)"
            )
        }
    }

    /// - Returns: the upstream, which answers until it is released.
    private func installed(_ machine: Machine) throws -> TestUpstream {
        let upstream = try TestUpstream(in: machine.namespace)
        let line = try machine.start(
            Product.emulator,
            ["--listen", "127.0.0.1:8053"]
        ).line(with: "listening on ")
        try machine.scratch.write("1234567890123456", to: "etc/httpdnsd/tencent.key", mode: 0o600)
        try machine.scratch.write(
            """
            vendors:
              tencent:
                kind: tencent
                channel: aes
                id: 12345
                key: {credential: tencent.key}
                servers: ["\(line.split(separator: " ").last ?? "")"]
            routes: [{domains: [example.com], vendors: [tencent], fallback-after: off}]
            \(upstream.text)

            """,
            to: "etc/httpdnsd/httpdnsd.yaml"
        )
        return upstream
    }

    private static let unit =
        "CREDENTIALS_DIRECTORY=/etc/httpdnsd nohup httpdnsd >/run/log 2>&1 &"
        + " until httpdnsctl status >/dev/null 2>&1; do :; done"

    @Test("with an installed daemon, the documented commands for use and operation work")
    func work() throws {
        let machine = try Machine()
        let upstream = try installed(machine)
        defer { withExtendedLifetime(upstream) {} }
        let credentials = "CREDENTIALS_DIRECTORY=/etc/httpdnsd"
        try run(
            2,
            [
                Form(
                    "sudoedit /etc/httpdnsd/httpdnsd.yaml",
                    as: "grep -q tencent /etc/httpdnsd/httpdnsd.yaml"
                ),
                Form("sudo httpdnsd --check", as: "sudo env \(credentials) httpdnsd --check"),
                Form("sudo systemctl enable --now httpdnsd", as: Self.unit),
                Form("dig @127.0.0.1 www.example.com", prints: "192.0.2.1"),
                Form("sudo httpdnsctl status", prints: "READY"),
                Form("sudo httpdnsctl setup --dry-run", prints: "nameserver 127.0.0.1"),
                Form("sudo httpdnsctl setup apply", prints: "resolv.conf"),
                Form(
                    "sudo httpdnsctl doctor",
                    ends: [0, 4],
                    prints: "getaddrinfo uses the daemon"
                ),
            ],
            on: machine
        )
        let name = "www.example.com"
        try run(
            3,
            [
                Form("httpdnsctl stats", prints: "BILLED"),
                Form("httpdnsctl explain --live \(name)", prints: "tencent"),
                Form("httpdnsctl flush --tree example.com", prints: "removed"),
                Form("httpdnsctl check && httpdnsctl reload"),
                Form("journalctl -u httpdnsd", as: "journalctl --version"),
            ],
            on: machine
        )
        let page = "docs/operations.md"
        try run(
            1,
            of: page,
            [Form("sudo env CREDENTIALS_DIRECTORY=/etc/httpdnsd httpdnsd --check", prints: "ok")],
            on: machine
        )
        try run(
            0,
            of: page,
            [
                Form("httpdnsctl status", prints: "READY"),
                Form("httpdnsctl doctor", ends: [0, 4], prints: "settings"),
                Form(
                    "httpdnsctl stats --watch 2",
                    as: "timeout --signal=INT 3 httpdnsctl stats --watch 2",
                    ends: [124]
                ),
                Form("httpdnsctl explain \(name)", prints: "httpdnsd.yaml:"),
                Form("httpdnsctl explain --live \(name)", prints: "tencent"),
                Form("httpdnsctl resolve \(name) four.example.com", prints: "192.0.2.1"),
                Form("httpdnsctl lookup \(name)", prints: "192.0.2.1"),
                Form("httpdnsctl dump", prints: name),
                Form("httpdnsctl flush --tree example.com", prints: "removed"),
                Form("httpdnsctl flush --soft --source tencent", prints: "marked"),
                Form("httpdnsctl top cost", prints: name),
                Form("httpdnsctl top misses", prints: name),
                Form("httpdnsctl top slow"),
                Form(
                    "httpdnsctl watch --slower 50",
                    as: "timeout --signal=INT 1 httpdnsctl watch --slower 50",
                    ends: [124],
                    prints: "TOOK"
                ),
                Form("httpdnsctl pause tencent", prints: "tencent"),
                Form("httpdnsctl resume tencent", prints: "tencent"),
                Form("httpdnsctl check && httpdnsctl reload"),
                Form("httpdnsctl --json stats | jq '[.vendors[].\"billable-calls\"] | add'"),
                Form("journalctl -u httpdnsd", as: "journalctl --version"),
            ],
            on: machine
        )
        #expect(try machine.run("kill $(httpdnsctl --json status | jq .pid)").status == 0)
    }

    @Test("the commands of \"Development\" exist, and a clone of the repository passes lint")
    func working() throws {
        let machine = try Machine()
        let clone = "\(machine.scratch.path)/clone"
        try run(
            4,
            [
                Form(
                    "git clone URL-OF-THIS-REPOSITORY httpdnsd && cd httpdnsd",
                    as: "git -c safe.directory='*' clone --quiet . '\(clone)' && cd '\(clone)'"
                ),
                Form("scripts/setup", as: "bash -n scripts/setup"),
                Form("swift build", as: "grep -q '\"httpdnsd\"' Package.swift"),
                Form("scripts/test", as: "bash -n scripts/test"),
                Form("scripts/fuzz --seconds 60", as: "bash -n scripts/fuzz"),
                Form("scripts/lint"),
                Form(".ci/run", as: "bash -n .ci/run"),
            ],
            on: machine
        )
    }
}
