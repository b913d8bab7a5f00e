// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A daemon that is started again and again, with one file for its cache.
private final class Machine: Sendable {
    let emulator: TestEmulator
    let namespace: Namespace?
    private let scratch: Scratch
    private let vendor: VendorText

    /// The directory of the file.
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
        emulator = try TestEmulator(zone: Stack.zone, in: namespace)
        vendor = try VendorText(.aes, servers: [emulator.address], in: scratch)
    }

    /// Starts the daemon.
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
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory).sorted() }
    }

    /// Fills the cache of a daemon with answers to `count` names.
    func fill(_ daemon: TestDaemon, _ count: Int) throws {
        if let namespace {
            let names = (0..<count).map { "n\($0).many.example.com" }
            let end = try namespace.run("dig", ["@127.0.0.1", "-p", "\(daemon.port)"] + names)
            #expect(end.status == 0)
            return
        }
        let socket = try Socket(.datagram, to: daemon.port)
        for begin in stride(from: 0, to: count, by: 50) {
            let batch = begin..<min(begin + 50, count)
            for index in batch { try socket.send(RawMessage.query("n\(index).many.example.com")) }
            for _ in batch { #expect(RawMessage.rcode(try socket.receive()) == 0) }
        }
    }

    /// Lets a daemon write what it has, and end.
    func fill(_ count: Int = 20) throws {
        let daemon = try start()
        try fill(daemon, count)
        try daemon.stop()
        #expect(try names == ["cache.snapshot"])
    }
}

@Suite("The cache survives restarts", .needs(.dig, .curl), .hangLimit)
struct SnapshotTests {
    @Test("after a restart answers are there without a call, with less time to live")
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
        _ = try second.program.line(with: "cache: loaded ")
        let answer = try second.dig("four.example.com", "A")
        #expect(answer.data("A") == ["192.0.2.4"])
        #expect(answer.answers.allSatisfy { (1..<120).contains($0.ttl) })
        #expect(try second.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try machine.emulator.lookups() == calls, "nobody was asked again")
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

    @Test("`auto` is the unit's state directory, `off` is nowhere", arguments: ["auto", "off"])
    func settings(_ setting: String) throws {
        let machine = try Machine()
        let daemon = try machine.start(
            setting: setting,
            environment: ["STATE_DIRECTORY": machine.directory + ":/elsewhere"]
        )
        _ = try daemon.dig("www.example.com", "A")
        try daemon.stop()
        #expect(try machine.names == (setting == "auto" ? ["cache.snapshot"] : []))
    }

    @Test(
        "a damaged file is reported, set aside and ignored",
        arguments: ["empty", "truncated", "flipped"]
    )
    func damaged(_ what: String) throws {
        let machine = try Machine()
        try machine.fill()
        var data = try Data(contentsOf: URL(filePath: machine.file))
        switch what {
        case "empty": data = Data()
        case "truncated": data = data.prefix(data.count / 2)
        default: data[data.count / 2] ^= 1
        }
        try data.write(to: URL(filePath: machine.file))
        let daemon = try machine.start()
        let line = try daemon.program.line(with: "error: cache: ")
        #expect(line.contains(", at octet "))
        #expect(try machine.names == ["cache.snapshot.damaged"])
        #expect(try daemon.dig("www.example.com", "A").status == "NOERROR")
        #expect(try daemon.control("status").output.contains("at octet"))
        try daemon.stop()
        #expect(try machine.names == ["cache.snapshot", "cache.snapshot.damaged"])
    }

    @Test("a directory in the place of the file is left alone, and answers go on")
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
        #expect(end.errors.components(separatedBy: "regular file (").count == 2, "said once")
        #expect(try machine.names == ["cache.snapshot"])
    }

    /// How often the daemon is killed in the middle; `KILLED_DAEMONS` in the environment says else.
    private static let kills =
        ProcessInfo.processInfo.environment["KILLED_DAEMONS"].flatMap { Int($0) } ?? 10

    @Test("killed while it writes, it leaves a whole file and nothing that grows")
    func killed() throws {
        let machine = try Machine()
        try machine.fill(1000)
        let temporary = machine.file + ".tmp"
        var (inTheMiddle, round) = (0, 0)
        // Who is killed too late does not count; it cannot be so each time.
        while inTheMiddle < Self.kills {
            round += 1
            try #require(round <= 10 * Self.kills)
            let daemon = try machine.start()
            let line = try daemon.program.line(with: "cache: loaded ")
            let words = line.components(separatedBy: "cache: loaded ")[1].split(separator: " ")
            #expect((words.first.flatMap { Int($0) } ?? 0) >= 1000, "\(round): \(line)")
            // The leftover of the one before is gone, so what appears is of this one's writing.
            #expect(access(temporary, F_OK) != 0)
            // Something new, or there would be nothing to write.
            let new = try daemon.dig("n\(1000 + round).many.example.com", "A")
            #expect(new.status == "NOERROR")
            daemon.program.send(SIGTERM)
            while access(temporary, F_OK) != 0, kill(daemon.program.pid, 0) == 0 {}
            // It has begun.  A moment that is another one each time.
            let looks = Int.random(in: 0..<(round % 2 == 0 ? 2_000 : 20_000))
            for _ in 0..<looks { access(temporary, F_OK) }
            daemon.program.send(SIGKILL)
            let end = try daemon.program.end()
            let left = try machine.names
            #expect(Set(left).isSubset(of: ["cache.snapshot", "cache.snapshot.tmp"]))
            if left.contains("cache.snapshot.tmp") {
                inTheMiddle += 1
                #expect(end.status == 128 + SIGKILL)
            }
        }
        print("\(round) daemons were told to stop, \(inTheMiddle) killed while they wrote")
        let last = try machine.start()
        _ = try last.program.line(with: "cache: loaded ")
        #expect(!last.program.errorText.contains("error: "))
        #expect(try machine.names == ["cache.snapshot"])
        try last.stop()
    }

    /// A file system whose server never answers: whoever asks for a file in it waits for ever.
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
        "a disk that does not answer holds up neither answers nor the end",
        .needs(.unshare, .ip, .python3),
        .enabled(if: access("/dev/fuse", R_OK | W_OK) == 0, "there is no /dev/fuse")
    )
    func silentDisk() throws {
        let namespace = try Namespace()
        let machine = try Machine(in: namespace)
        let disk = try Child(
            "python3",
            ["-c", Self.silentDisk, machine.directory],
            in: namespace
        )
        _ = try disk.line(with: "mounted")
        let daemon = try machine.start()
        #expect(try daemon.dig("www.example.com", "A").status == "NOERROR")
        #expect(try daemon.control("status").output.contains("nothing yet"))
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(end.errors.contains("the disk does not answer, giving up"), "\(end.errors)")
        try disk.stop()
    }

    @Test(
        "a full or a read-only disk is a warning, and the old file stays",
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
        _ = try second.program.line(with: "cache: loaded ")
        try machine.fill(second, 40)
        let end = try second.program.stop()
        #expect(end.status == 0)
        let fault = state == "full" ? "No space left on device" : "Read-only file system"
        #expect(end.errors.contains("warning: cache: \(machine.file)"), "\(end.errors)")
        #expect(end.errors.contains(fault))
        #expect(end.errors.contains("keeping the old file"))

        let third = try machine.start()
        let line = try third.program.line(with: "cache: loaded ")
        #expect(line.contains("loaded 40 answers") || line.contains("loaded 20 answers"), "\(line)")
        let names = try namespace.run("ls", [machine.directory]).output
        #expect(!names.contains("tmp") && !names.contains("damaged"))
        try third.program.stop()
    }
}
