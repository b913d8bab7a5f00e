// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import httpdnsctl

@Suite("httpdnsctl setup")
struct SetupProgramTests {
    func arguments(_ root: FakeRoot, _ more: String...) -> [String] {
        ["--socket", root.path + "/none.sock", "setup", "--root", root.path] + more
    }

    @Test("if no daemon answers, setup changes files only with `--force`")
    func noDaemon() async throws {
        let root = try SetupMachineTests.root("plain")
        let before = try root.image()
        // Queries to TEST-NET-1 (RFC 5737) time out; a closed port on loopback fails immediately.
        let closed = ["--server", "127.0.0.1:1"]
        var run = try await runControl(arguments(root, "apply") + closed)
        #expect(run.status == 1)
        #expect(run.output.contains("no DNS server answers on 127.0.0.1:1"))
        #expect(try root.image() == before)
        run = try await runControl(arguments(root, "apply", "--force") + closed)
        #expect(run.status == 1, "resolv.conf cannot express ports")
        #expect(try root.image() == before)
    }

    @Test("a dry run shows each change, but changes nothing")
    func dryRun() async throws {
        let root = try SetupMachineTests.root("plain")
        let before = try root.image()
        let force = ["--dry-run", "--force", "--server", "127.0.0.1"]
        var run = try await runControl(arguments(root) + force)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("-nameserver 192.0.2.1\n"))
        #expect(run.output.contains("+nameserver 127.0.0.1\n"))
        run = try await runControl(arguments(root, "--json") + force)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        )
        #expect(json["result"] as? String == "planned")
        #expect(json["owner"] as? String == "nobody")
        #expect(json["servers"] as? [String] == ["127.0.0.1"])
        let change = try #require((json["changes"] as? [[String: Any]])?.first)
        #expect(change["path"] as? String == "/etc/resolv.conf")
        #expect(change["before"] as? String == "file" && change["after"] as? String == "file")
        #expect(try root.image() == before)
    }

    @Test("apply and revert are idempotent and report the result")
    func roundTrip() async throws {
        let root = try SetupMachineTests.root("resolved")
        let before = try root.image()
        let apply = arguments(root, "apply", "--force", "--server", "127.0.0.1")
        for (command, text) in [
            (apply, "done; "), (apply, "already configured"),
            (arguments(root, "revert", "--dry-run"), "+++ /dev/null"),
            (arguments(root, "revert"), "as before the setup"),
            (arguments(root, "revert"), "no setup to revert"),
        ] {
            let run = try await runControl(command)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.contains(text), "\(run.output)")
        }
        #expect(try root.image() == before)
    }

    @Test(
        "with a wrong command line, setup exits with 2",
        arguments: [
            ["setup"], ["setup", "undo"], ["setup", "apply", "--server", "localhost"],
            ["setup", "--dry-run", "--root", "here"],
        ]
    )
    func usage(_ arguments: [String]) async throws {
        let run = try await runControl(arguments)
        #expect(run.status == 2 && run.output.isEmpty && !run.errors.isEmpty)
    }
}
