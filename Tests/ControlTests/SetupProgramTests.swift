// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdnsctl

@Suite("httpdnsctl setup")
struct SetupProgramTests {
    /// The arguments for a machine below a directory, and no daemon.
    func arguments(_ root: FakeRoot, _ more: String...) -> [String] {
        ["--socket", root.path + "/none.sock", "setup", "--root", root.path] + more
    }

    @Test("without a daemon nothing is changed, unless force says so")
    func noDaemon() async throws {
        let root = try SetupMachineTests.root("plain")
        let before = try root.image()
        // TEST-NET-1 (RFC 5737) answers nobody; a port without a listener on loopback says so at once.
        let closed = ["--server", "127.0.0.1:1"]
        var run = try await httpdnsctl(arguments(root, "apply") + closed)
        #expect(run.status == 1)
        #expect(run.output.contains("no DNS server answers on 127.0.0.1:1"))
        #expect(try root.image() == before)
        run = try await httpdnsctl(arguments(root, "apply", "--force") + closed)
        #expect(run.status == 1, "resolv.conf knows no ports")
        #expect(try root.image() == before)
    }

    @Test("a dry run shows each file and does nothing; --json has the same")
    func dryRun() async throws {
        let root = try SetupMachineTests.root("plain")
        let before = try root.image()
        let force = ["--dry-run", "--force", "--server", "127.0.0.1"]
        var run = try await httpdnsctl(arguments(root) + force)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("-nameserver 192.0.2.1\n"))
        #expect(run.output.contains("+nameserver 127.0.0.1\n"))
        run = try await httpdnsctl(arguments(root, "--json") + force)
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

    @Test("apply, apply again, revert, revert again: 0 each, and it says what was done")
    func roundTrip() async throws {
        let root = try SetupMachineTests.root("resolved")
        let before = try root.image()
        let apply = arguments(root, "apply", "--force", "--server", "127.0.0.1")
        for (command, text) in [
            (apply, "done; "), (apply, "everything is so already"),
            (arguments(root, "revert", "--dry-run"), "+++ /dev/null"),
            (arguments(root, "revert"), "as it was before the setup"),
            (arguments(root, "revert"), "nothing was set up"),
        ] {
            let run = try await httpdnsctl(command)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.contains(text), "\(run.output)")
        }
        #expect(try root.image() == before)
    }

    @Test(
        "a wrong command line is exit code 2",
        arguments: [
            ["setup"], ["setup", "undo"], ["setup", "apply", "--server", "localhost"],
            ["setup", "--dry-run", "--root", "here"],
        ]
    )
    func usage(_ arguments: [String]) async throws {
        let run = try await httpdnsctl(arguments)
        #expect(run.status == 2 && run.output.isEmpty && !run.errors.isEmpty)
    }
}
