// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private final class Machine: Sendable {
    let emulator: TestEmulator
    let namespace: Namespace?
    private let scratch: Scratch
    private let vendor: VendorText

    let directory: String
    var file: String { "\(directory)/cache.snapshot" }

    init(in namespace: Namespace? = nil) throws {
        self.namespace = namespace
        scratch = try Scratch()
        directory = scratch.file("state")
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        emulator = try TestEmulator(zone: ProgramHarness.zone, in: namespace)
        vendor = try VendorText(.aes, servers: [emulator.address], in: scratch)
    }

    func start(setting: String? = nil, environment: [String: String] = [:]) throws -> TestDaemon {
        try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            upstreams: []
            cache: {snapshot: \(setting ?? file)}
            """,
            environment: environment,
            in: namespace
        )
    }

    var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: directory)
                .filter { !$0.hasSuffix(".lock") }.sorted()
        }
    }

    func fill(_ daemon: TestDaemon, _ count: Int) throws {
        let names = (0..<count).map { "n\($0).many.example.com" }
        let arguments = ["@127.0.0.1", "-p", "\(daemon.port)"] + names
        #expect(try Child("dig", arguments, in: namespace).end().status == 0)
    }
}

@Suite("The cache survives restarts", .needs(.dig, .curl), .hangLimit)
struct SnapshotTests {
    @Test("after a restart, cached answers are still there, with a lower TTL")
    func restart() throws {
        let machine = try Machine()
        let first = try machine.start()
        #expect(try first.dig("four.example.com", "A").answers.map(\.ttl) == [120])
        #expect(try first.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        let calls = try machine.emulator.lookups()
        try first.stop()
        let attributes = try FileManager.default.attributesOfItem(atPath: machine.file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let second = try machine.start()
        _ = try second.program.line(with: "cache: entries restored: ")
        let answer = try second.dig("four.example.com", "A")
        #expect(answer.data("A") == ["192.0.2.4"])
        #expect(answer.answers.allSatisfy { (1..<120).contains($0.ttl) })
        #expect(try second.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try machine.emulator.lookups() == calls)
        let entry = try #require(try second.cached("four.example.com", "A").first)
        #expect(entry["source"].string == "tencent")
        #expect(entry["server"].string == machine.emulator.address)

        let status = try JSON(second.control("status", "--json").output)["cache", "snapshot"]
        #expect(status["path"].string == machine.file)
        #expect((status["entries"].int ?? 0) >= 3)
        #expect((status["octets"].int ?? 0) > 100)
        #expect((status["age-seconds"].int ?? -1) >= 0)
        #expect(try second.stats()["cache", "snapshot", "path"].string == machine.file)
        try second.stop()
    }

    @Test(
        "with `auto`, the snapshot is in the state directory; with `off`, there is no snapshot",
        arguments: ["auto", "off"]
    )
    func settings(_ setting: String) throws {
        let machine = try Machine()
        let daemon = try machine.start(
            setting: setting,
            environment: ["STATE_DIRECTORY": machine.directory + ":/elsewhere"]
        )
        _ = try daemon.dig("www.example.com", "A")
        try daemon.stop()
        let names = try machine.names.filter { $0 != "usage.state" }
        #expect(names == (setting == "auto" ? ["cache.snapshot"] : []))
    }

    @Test("the daemon does not replace a directory at the path of the snapshot")
    func directory() throws {
        let machine = try Machine()
        try FileManager.default.createDirectory(
            atPath: machine.file,
            withIntermediateDirectories: false
        )
        let daemon = try machine.start()
        _ = try daemon.program.line(with: "cache.snapshot is not a regular file")
        #expect(try daemon.dig("www.example.com", "A").status == "NOERROR")
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(end.errors.components(separatedBy: "regular file (").count == 2, "logged once")
        #expect(try machine.names == ["cache.snapshot"])
    }

    /// FUSE file system on which every access blocks.
    private static let silentDisk = """
        import ctypes, os, signal, sys
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"silent", sys.argv[1].encode(), b"fuse", 0, options.encode()):
            sys.exit(os.strerror(ctypes.get_errno()))
        print("mounted", flush=True)
        signal.pause()
        """

    @Test(
        "a blocked disk delays neither the answers nor the stop of the daemon",
        .needs(.unshare, .ip, .python3),
        .enabled(if: access("/dev/fuse", R_OK | W_OK) == 0, "there is no /dev/fuse")
    )
    func silentDisk() throws {
        let namespace = try Namespace()
        let machine = try Machine(in: namespace)
        let disk = try Child("python3", ["-c", Self.silentDisk, machine.directory], in: namespace)
        _ = try disk.line(with: "mounted")
        let daemon = try machine.start()
        #expect(try daemon.dig("www.example.com", "A").status == "NOERROR")
        #expect(try daemon.control("status").output.contains("none yet"))
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(end.errors.contains("the disk does not respond, no new snapshot"), "\(end.errors)")
        try disk.stop()
    }

    @Test(
        "if the disk is full or read-only, the old snapshot stays, and the daemon logs a warning",
        .needs(.unshare, .ip),
        arguments: ["full", "read-only"]
    )
    func disk(_ state: String) throws {
        let namespace = try Namespace()
        let machine = try Machine(in: namespace)
        func run(_ command: String...) throws {
            let end = try namespace.run(command[0], Array(command.dropFirst()))
            try #require(end.status == 0, "\(end.errors)")
        }
        try run("mount", "-t", "tmpfs", "-o", "size=256k", "none", machine.directory)
        let first = try machine.start()
        try machine.fill(first, 20)
        try first.stop()
        if state == "read-only" {
            try run("mount", "-o", "remount,ro", machine.directory)
        } else {
            _ = try namespace.run("dd", ["if=/dev/zero", "of=\(machine.directory)/full", "bs=4k"])
        }
        let second = try machine.start()
        _ = try second.program.line(with: "cache: entries restored: ")
        try machine.fill(second, 40)
        let end = try second.program.stop()
        #expect(end.status == 0)
        let fault = state == "full" ? "No space left on device" : "Read-only file system"
        #expect(end.errors.contains("warning: cache: \(machine.file)"), "\(end.errors)")
        #expect(end.errors.contains(fault))
        let consequence = state == "full" ? "keeping the old file" : "not saving the cache"
        #expect(end.errors.contains(consequence))

        let third = try machine.start()
        let line = try third.program.line(with: "cache: entries restored: ")
        #expect(line.contains("restored: 40 ") || line.contains("restored: 20 "), "\(line)")
        let names = try namespace.run("ls", [machine.directory]).output
        #expect(!names.contains("tmp") && !names.contains("damaged"))
        try third.program.stop()
    }
}
