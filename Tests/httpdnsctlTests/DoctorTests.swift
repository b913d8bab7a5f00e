// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc
import TestWorld
import Testing

@testable import httpdnsctl

@Suite("Findings of doctor")
struct DoctorTests {
    @Test("doctor finds nothing to fix on a healthy machine")
    func healthy() {
        let findings = Check.examine(Fixture.healthy)
        #expect(findings.allSatisfy { $0.state == .ok || $0.state == .skipped }, "\(findings)")
        #expect(DoctorReport(findings).state == .ok)
    }

    @Test("doctor finds each problem, and suggests a fix", arguments: Fixture.all)
    func found(_ fixture: Fixture) throws {
        let findings = fixture.check.findings(fixture.machine)
        let finding = try #require(
            findings.first {
                $0.state == fixture.state && ($0.what + ($0.fix ?? "")).contains(fixture.words)
            },
            "\(findings)"
        )
        #expect(finding.check == fixture.check.name)
        let isWrong = finding.state == .warning || finding.state == .failure
        #expect((finding.fix != nil) == isWrong)
        #expect(!finding.what.contains("\n") && !(finding.fix ?? "").contains("\n"))
        if !isWrong { #expect(findings.allSatisfy { $0.fix == nil }) }
    }

    @Test("if nscd does not cache hosts, doctor has no finding for nscd")
    func quiet() {
        var machine = Fixture.healthy
        machine.processes = ["nscd"]
        machine.nscd = "# enable-cache hosts yes\n\tenable-cache\t\thosts\t\tno\n"
        #expect(Check.nameCache.findings(machine).isEmpty)
    }

    @Test("if the daemon does not run, doctor still reports all checks")
    func down() {
        var machine = MachineFacts()
        machine.isRoot = false
        let report = DoctorReport(Check.examine(machine))
        #expect(report.state == .failure)
        #expect(report.findings.contains { $0.check == "daemon" && $0.state == .failure })
    }

    @Test(
        "doctor finds proxies in each syntax of an assignment, and hides passwords",
        arguments: [
            ("http_proxy=http://192.0.2.1:3128", "http_proxy http://192.0.2.1:3128"),
            (
                "export HTTPS_PROXY=\"http://me:pw@proxy.example/\"",
                "HTTPS_PROXY http://proxy.example/"
            ),
            ("DefaultEnvironment=all_proxy=socks5://a:1 X=y", "all_proxy socks5://a:1"),
            ("DefaultEnvironment=\"http_proxy=http://a:1\"", "http_proxy http://a:1"),
            ("# http_proxy=http://a:1", ""), ("no_proxy=example.com", ""), ("http_proxy=", ""),
            ("http_proxy", ""), ("PATH=/bin:/usr/bin", ""),
        ]
    )
    func proxies(_ line: String, _ expected: String) {
        let found = ProxySetting.assignments(in: line + "\n", "/etc/environment")
        #expect(found.map { "\($0.name) \($0.value)" }.joined(separator: ", ") == expected)
    }

    @Test(
        "doctor finds the proxy settings of desktop environments",
        arguments: [
            ("[system/proxy]\nmode='manual'\n", "mode manual"),
            ("[system/proxy]\nmode='none'\n", ""), ("[other]\nmode='manual'\n", ""),
            ("[Proxy Settings]\nProxyType=1\n", "ProxyType 1"),
            ("[Proxy Settings]\nProxyType=0\n", ""),
        ]
    )
    func desktopProxies(_ text: String, _ expected: String) {
        let found = ProxySetting.desktop(in: text, "/f")
        #expect(found.map { "\($0.name) \($0.value)" }.joined(separator: ", ") == expected)
    }

    @Test("the checks keep the names that scripts use")
    func names() {
        #expect(
            Check.all.map(\.name) == [
                "unit", "daemon", "version", "control-socket", "settings", "secrets", "descriptors",
                "kernel", "port-53", "answers", "resolv-conf", "setup", "nsswitch", "environment",
                "proxy", "name-cache", "getaddrinfo", "containers", "vendors", "client-address",
                "fleet", "upstreams", "clock", "certificates", "interception",
            ]
        )
    }

    @Test("the report shows fixes, and ends with a summary")
    func text() {
        let report = DoctorReport([
            Finding(check: "a", state: .ok, what: "fine", fix: nil),
            Finding(check: "long", state: .failure, what: "bad\u{1B}[2J", fix: "do that"),
        ])
        #expect(
            report.text(Palette(isEnabled: false)) == """
                ok       a     fine
                FAILURE  long  bad\\u{1b}[2J
                    fix: do that

                1 failure

                """
        )
    }

    @Test("doctor finds listening sockets in /proc/net")
    func ports() {
        let udp = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
              10: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   104        0 23456 2 x 0
              11: 0100007F:A035 3500007F:0035 01 00000000:00000000 00:00000000 00000000     0        0 1 2 x 0
              12: junk
            """
        let found = PortTable.entries(udp, .udp)
        #expect(found.map(\.server.description) == ["127.0.0.1"])
        #expect(found.map(\.inode) == [23456] && found.map(\.user) == [104])
        let tcp = """
               0: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 77 1
               1: B80D0120000000000000000001000000:14E9 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 78 1
            """
        #expect(
            PortTable.entries(tcp, .tcp).map(\.server.description) == ["::1", "[2001:db8::1]:5353"]
        )
    }

    @Test("doctor reads the soft limit of file descriptors, not the hard limit")
    func limits() {
        let text =
            "Limit     Soft Limit   Hard Limit   Units\nMax open files   1024   524288   files\n"
        #expect(Gatherer.descriptors(text) == 1024)
        #expect(Gatherer.descriptors("") == nil)
    }

    @Test(
        "doctor uses the last `--config` in the daemon's command line",
        arguments: [
            ("/usr/sbin/httpdnsd\0", nil), ("httpdnsd\0--config\0/a b\0", "/a b"),
            ("httpdnsd\0--config=/a\0--config\0/b\0--log-level\0debug\0", "/b"),
            ("httpdnsd\0--config=x=y\0", "x=y"), ("", nil),
        ] as [(String, String?)]
    )
    func settings(commandLine: String, file: String?) {
        #expect(Gatherer.settings(of: commandLine) == file)
    }

    @Test("`doctor --root DIR` checks the files in DIR, and sends no DNS query")
    func directory() throws {
        let root = try FakeRoot()
        try root.write("nameserver 192.0.2.1\n", to: "/etc/resolv.conf")
        try root.write("hosts: files\n", to: "/etc/nsswitch.conf")
        try root.write(
            "vendors:\n  a: {token: {file: /etc/t}}\n  # file: /etc/none\n",
            to: "/etc/httpdnsd/httpdnsd.yaml"
        )
        try root.write(
            "vendors: {b: {token: {file: /etc/u}}}\n",
            to: "/etc/httpdnsd/httpdnsd.yaml.d/b.yaml"
        )
        try root.write("secret", to: "/etc/t", mode: 0o600)
        try root.write("secret", to: "/etc/u", mode: 0o604)
        let gatherer = Gatherer(
            tree: root.tree,
            client: ControlClient(socket: "/none"),
            options: .init()
        )
        let findings = Check.examine(try gatherer.facts())
        let wrong = findings.filter { $0.state == .failure }.map(\.check)
        #expect(wrong == ["secrets", "resolv-conf", "nsswitch", "certificates"])
    }

    @Test("after the time limit, doctor kills a program and its children")
    func endless() throws {
        let start = ContinuousClock.now
        let outcome = try #require(
            Subprocess.run(
                ["sh", "-c", "echo begun; sh -c 'read x < /dev/tty || tail -f /dev/null'"],
                within: .milliseconds(300)
            )
        )
        #expect(outcome.status == nil && outcome.output.hasPrefix("begun\n"))
        #expect(start.duration(to: .now) < .seconds(20))
        #expect(Subprocess.run(["sh", "-c", "exit 3"], within: .seconds(10))?.status == 3)
        #expect(Subprocess.run(["no-such-program"], within: .seconds(10)) == nil)
    }

    @Test("doctor finds a control socket with a relative path")
    func relativeSocket() async throws {
        let daemon = try ScriptedDaemon { _ in .results(Samples.status) }
        defer { daemon.stop() }
        let name = try #require(daemon.path.split(separator: "/").last)
        let folder = String(daemon.path.dropLast(name.count))
        let run = try await runControl(in: folder, "--socket", String(name), "doctor", "--json")
        #expect(run.output.contains("\(daemon.path) is accessible to "), "\(run.output)")
    }

    @Test("no text advises a user to join the group root")
    func groupRoot() throws {
        var machine = Fixture.healthy
        machine.socket?.group = 0
        machine.socket?.groupName = "root"
        machine.socket?.isWritable = false
        let finding = try #require(Check.controlSocket.findings(machine).first)
        #expect(finding.state == .warning)
        // On every machine, /etc/passwd has the group root.
        let failure = Unreachable.connecting(to: "/etc/passwd", error: EACCES)
        for advice in [finding.fix, failure.hint] {
            let advice = try #require(advice)
            #expect(advice.hasPrefix("use sudo"))
            #expect(!advice.contains("aG root") && !advice.contains("join the group that owns"))
            #expect(advice.contains("groupadd --system httpdns"))
        }
    }

    @Test("if the daemon does not run, doctor exits with 4")
    func program() async throws {
        let root = try FakeRoot()
        let run = try await runControl(
            "--socket",
            root.path + "/none.sock",
            "doctor",
            "--json",
            "--config",
            root.path + "/none.yaml"
        )
        #expect(run.status == 4, "\(run.errors)")
        let report = try JSONText.decode(JSONValue.self, from: Array(run.output.utf8))
        #expect(report["state"]?.text == "failure")
        guard case .array(let findings)? = report["findings"] else {
            Issue.record("there are no findings")
            return
        }
        let daemon = try #require(findings.first { $0["check"]?.text == "daemon" })
        #expect(daemon["what"]?.text?.contains("there is no socket") == true)
        #expect(daemon["fix"]?.text?.isEmpty == false)
    }
}
