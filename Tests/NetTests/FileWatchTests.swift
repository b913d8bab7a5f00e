// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Testing

@testable import Net

@Suite("Notifications of file changes", .timeLimit(.minutes(15)))
struct FileWatchTests {
    @ServiceLoop
    private final class Fixture {
        let folder: String
        private var watch: FileWatch?
        private var waiting: CheckedContinuation<Void, Never>?

        private var isTold = false

        init(_ name: String) throws {
            var template = Array("/tmp/httpdnsd-watch-XXXXXX".utf8CString)
            folder = String(cString: try #require(mkdtemp(&template)))
            watch = FileWatch("\(folder)/\(name)") { [weak self] in self?.notice() }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func notice() {
            isTold = true
            waiting?.resume()
            waiting = nil
        }

        func expect(_ action: (Fixture) throws -> Void) async throws {
            isTold = false
            try action(self)
            guard !isTold else { return }
            await withCheckedContinuation { waiting = $0 }
        }

        func write(_ text: String, to name: String) throws {
            let file = try #require(fopen("\(folder)/\(name)", "w"))
            fputs(text, file)
            fclose(file)
        }

        func rename(_ old: String, to new: String) throws {
            try #require(Glibc.rename("\(folder)/\(old)", "\(folder)/\(new)") == 0)
        }

        func remove(_ name: String) throws { try #require(Glibc.remove("\(folder)/\(name)") == 0) }

        func makeFolder(_ name: String) throws {
            try #require(mkdir("\(folder)/\(name)", 0o755) == 0)
        }

        func link(_ name: String, to target: String) throws {
            try #require(symlink(target, "\(folder)/\(name)") == 0)
        }
    }

    @Test
    @ServiceLoop
    func `creating, writing, replacing and removing a file are each reported`() async throws {
        let fixture = try Fixture("hosts")
        try await fixture.expect { try $0.write("one", to: "hosts") }
        try await fixture.expect { try $0.write("two", to: "hosts") }
        for round in 0..<3 {
            try fixture.write("round \(round)", to: "new")
            try await fixture.expect { try $0.rename("new", to: "hosts") }
            try await fixture.expect { try $0.remove("hosts") }
            try await fixture.expect { try $0.write("again", to: "hosts") }
        }
    }

    @Test
    @ServiceLoop
    func `creating and removing the file or a parent directory is reported`() async throws {
        let fixture = try Fixture("a/b/hosts")
        for _ in 0..<2 {
            try await fixture.expect { try $0.makeFolder("a") }
            try await fixture.expect { try $0.makeFolder("a/b") }
            try await fixture.expect { try $0.write("one", to: "a/b/hosts") }
            try await fixture.expect { try $0.write("two", to: "a/b/hosts") }
            try await fixture.expect { try $0.remove("a/b/hosts") }
            try await fixture.expect { try $0.remove("a/b") }
            try await fixture.expect { try $0.remove("a") }
        }
    }

    @Test
    @ServiceLoop
    func `a change of a symbolic link or of its target is reported`() async throws {
        let fixture = try Fixture("hosts")
        try fixture.makeFolder("elsewhere")
        try fixture.write("one", to: "elsewhere/first")
        try fixture.write("one", to: "elsewhere/second")
        try await fixture.expect { try $0.link("hosts", to: "elsewhere/first") }
        try await fixture.expect { try $0.write("two", to: "elsewhere/first") }
        try fixture.write("three", to: "elsewhere/new")
        try await fixture.expect { try $0.rename("elsewhere/new", to: "elsewhere/first") }
        try await fixture.expect { try $0.write("four", to: "elsewhere/first") }
        try fixture.link("other", to: "elsewhere/second")
        try await fixture.expect { try $0.rename("other", to: "hosts") }
        try await fixture.expect { try $0.write("five", to: "elsewhere/second") }
    }

    @Test
    @ServiceLoop
    func `the target of a symbolic link is reported when it appears`() async throws {
        let fixture = try Fixture("hosts")
        try await fixture.expect { try $0.link("hosts", to: "run/hosts") }
        for _ in 0..<2 {
            try await fixture.expect { try $0.makeFolder("run") }
            try await fixture.expect { try $0.write("one", to: "run/hosts") }
            try await fixture.expect { try $0.remove("run/hosts") }
            try await fixture.expect { try $0.remove("run") }
        }
    }

    @Test
    @ServiceLoop
    func `a change of any symbolic link in the path is reported`() async throws {
        let fixture = try Fixture("volume/hosts")
        try fixture.makeFolder("first")
        try fixture.makeFolder("second")
        try fixture.write("one", to: "first/hosts")
        try fixture.write("two", to: "second/hosts")
        try fixture.makeFolder("volume")
        try await fixture.expect { try $0.link("volume/hosts", to: "../data/./hosts") }
        try await fixture.expect { try $0.link("data", to: $0.folder + "/first") }
        try fixture.link("new", to: "second")
        try await fixture.expect { try $0.rename("new", to: "data") }
        try await fixture.expect { try $0.write("three", to: "second/hosts") }
        try await fixture.expect { try $0.remove("data") }
        try await fixture.expect { try $0.link("data", to: "data") }
        try await fixture.expect { try $0.remove("data") }
    }

    @Test
    @ServiceLoop
    func `a new file is reported if it has the inode of a removed file`() async throws {
        let fixture = try Fixture("hosts")
        for _ in 0..<20 {
            try fixture.write("one", to: "old")
            let other = FileWatch("\(fixture.folder)/old") {}
            try fixture.remove("old")
            try await fixture.expect { try $0.write("two", to: "hosts") }
            try await fixture.expect { try $0.write("three", to: "hosts") }
            try await fixture.expect { try $0.remove("hosts") }
            withExtendedLifetime(other) {}
        }
    }

    @Test
    @ServiceLoop
    func `each poll reports a change until an inotify instance is free; then the watch begins`()
        async throws
    {
        let fixture = try Fixture("other")
        var failures = 2
        var told: CheckedContinuation<Void, Never>?
        let watch = FileWatch(
            "\(fixture.folder)/hosts",
            pollTime: .milliseconds(10),
            {
                told?.resume()
                told = nil
            },
            open: {
                failures -= 1
                errno = EMFILE
                return failures < 0 ? inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) : -1
            }
        )
        #expect(watch.fault != nil)
        while watch.fault != nil { await withCheckedContinuation { told = $0 } }
        #expect(failures == -1)
        try fixture.write("one", to: "hosts")
        await withCheckedContinuation { told = $0 }
    }

    @Test
    @ServiceLoop
    func `new permissions of a file that the daemon may not read are reported`() async throws {
        let fixture = try Fixture("other")
        let path = "\(fixture.folder)/hosts"
        try fixture.write("one", to: "hosts")
        try #require(chmod(fixture.folder, 0o755) == 0 && chmod(path, 0) == 0)
        var told: CheckedContinuation<Void, Never>?
        let watch = withoutPrivileges {
            FileWatch(path) {
                told?.resume()
                told = nil
            }
        }
        await withCheckedContinuation {
            told = $0
            chmod(path, 0o644)
        }
        withExtendedLifetime(watch) {}
    }

    @Test
    @ServiceLoop
    func `a file that the daemon may not read is reported as soon as it can be read`() async throws
    {
        let fixture = try Fixture("other")
        let path = "\(fixture.folder)/hosts"
        try fixture.write("one", to: "hosts")
        try #require(chmod(fixture.folder, 0o711) == 0 && chmod(path, 0) == 0)
        var told: CheckedContinuation<Void, Never>?
        let watch = withoutPrivileges {
            FileWatch(
                path,
                pollTime: .milliseconds(10),
                {
                    told?.resume()
                    told = nil
                },
                open: { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }
            )
        }
        #expect(watch.fault == nil)
        await withCheckedContinuation { told = $0 }
    }

    @Test
    @ServiceLoop
    func `a file that the daemon still may not read is reported only after a change`() async throws
    {
        let fixture = try Fixture("other")
        try fixture.write("one", to: "hosts")
        await #expect(processExitsWith: .success) { [folder = fixture.folder as String] in
            try await Self.change("\(folder)/hosts", in: folder)
        }
    }

    @ServiceLoop
    private static func change(_ path: String, in folder: String) async throws {
        // The watch can use neither the file nor its directory, so that only polls report changes.
        try #require(chmod(folder, 0o711) == 0 && chmod(path, 0) == 0)
        let user = geteuid()
        if user == 0 { try #require(seteuid(65_534) == 0) }
        let (open, time) = (
            { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }, Duration.milliseconds(10)
        )
        var reports = 0
        var told: CheckedContinuation<Void, Never>?
        let watch = FileWatch(
            path,
            pollTime: time,
            {
                reports += 1
                told?.resume()
                told = nil
            },
            open: open
        )
        var ticked: CheckedContinuation<Void, Never>?
        let ticks = FileWatch(
            path,
            pollTime: time,
            {
                ticked?.resume()
                ticked = nil
            },
            open: {
                errno = EMFILE
                return -1
            }
        )
        for _ in 0..<5 { await withCheckedContinuation { ticked = $0 } }
        try #require(reports == 0)
        for mode in [0o200, 0o644] as [mode_t] {
            try #require(seteuid(user) == 0 && chmod(path, mode) == 0)
            if user == 0 { try #require(seteuid(65_534) == 0) }
            await withCheckedContinuation { told = $0 }
        }
        withExtendedLifetime((watch, ticks)) {}
    }

    @Test
    @ServiceLoop
    func `a released watch sends no notifications`() async throws {
        let fixture = try Fixture("hosts")
        var told = 0
        var other: FileWatch? = FileWatch("\(fixture.folder)/hosts") { told += 1 }
        try await fixture.expect { try $0.write("one", to: "hosts") }
        #expect(other != nil)
        other = nil
        let before = told
        try await fixture.expect { try $0.write("two", to: "hosts") }
        #expect(told == before)
    }
}
