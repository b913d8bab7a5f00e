// SPDX-License-Identifier: Apache-2.0
import Glibc
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("Hostile or damaged text is rejected")
struct SettingsTextTests {
    @Test("unsupported YAML features are errors", arguments: Self.texts)
    func checkTexts(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    static let texts: [BadText] = [
        BadText("the root is a list", "- a", "f:1:1: mapping list"),
        BadText("the root is text", "hello", "f:1:1: mapping `hello`"),
        BadText("an empty document", "---\n", "f:1:4: value mapping"),
        BadText("a second document", isp + "---\n" + isp, "f:2:1: second"),
        BadText(
            "a key twice",
            isp + "log: {level: info,\n  level: debug}\n" + isp,
            "f:3:3: duplicate `level` 2",
            "f:4:1: duplicate `upstreams` 1"
        ),
        BadText(
            "anchor, alias and tag",
            isp + "cache: &a {size: 1MiB}\nlog: *a\nworkers: !!str auto\ncontrol: !x {}",
            "f:2:8: anchors `&`",
            "f:3:6: aliases `*` \"*.example.com\"",
            "f:4:10: tags `!`",
            "f:5:10: tags `!`"
        ),
        BadText("a merge key", isp + "<<: {}", "f:2:1: unknown `<<`"),
        BadText(
            "keys that are no text",
            isp + "? [1]\n: 2\n? {a: b}\n: 3",
            "f:2:3: plain",
            "f:4:3: plain"
        ),
        BadText(
            "control characters by escapes",
            isp + "workers: \"a\\0b\"\n\"lis\\nten\": []\nlog: {level: \"\\u009b31m\"}",
            "f:2:10: control characters",
            "f:3:1: control characters",
            "f:4:14: control characters"
        ),
        BadText(
            "an unclosed bracket, and the end of the file",
            "upstreams: [\n  {name: isp\n\n",
            "f:3:1: `{` line 2 `}`"
        ),
        BadText("a tab", "upstreams:\n\t- x", "f:2:1: spaces, not tabs"),
        BadText("NUL", isp + "log: \0", "f:2:6: U+0000"),
        BadText("escape sequence", isp + "# \u{1b}[31m", "f:2:3: U+001B"),
        BadText("return without newline", "a: 1\rb: 2", "f:1:5: U+000D"),
        BadText(
            "a line separator that editors do not show",
            isp + "# é\u{2028}x: 1",
            "f:2:4: U+2028"
        ),
        BadText("a byte order mark inside", isp + "\u{feff}", "f:2:1: U+FEFF"),
    ]

    @Test("invalid UTF-8 is reported with its place")
    func invalidUTF8() {
        let bad: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2],
        ]
        for octets in bad {
            let found = problems(in: [UInt8]((isp + "# é").utf8) + octets)
            expectErrors(found, ["f:2:4: UTF-8"], "\(octets)")
        }
        expectErrors(problems(in: [0xFF, 0xFE, 0x61, 0x00]), ["f:1:1: UTF-8"])
    }

    @Test("a byte order mark and CRLF change neither values nor columns")
    func markAndReturns() throws {
        let text = isp + "log: {level: debug}\n"
        let windows = "\u{feff}" + text.split(separator: "\n").map { $0 + "\r\n" }.joined()
        #expect("\(try settings(of: windows).log.level)" == "debug")
        #expect(try settings(of: windows) == settings(of: text))
        #expect(
            problems(in: "\u{feff}lisen: 1\r\nx: 1\r\n").map { $0.prefix(6) } == [
                "f:1:1:", "f:1:1:", "f:2:1:",
            ]
        )
    }

    @Test("a text above the size limit is not read")
    func size() throws {
        let text = Array(isp.utf8)
        #expect(YAMLReader(text, limit: text.count).complaints.isEmpty)
        #expect(!YAMLReader(text, limit: text.count - 1).complaints.isEmpty)
        let huge = [UInt8](repeating: UInt8(ascii: "["), count: YAMLReader.maximumOctets + 1)
        expectErrors(problems(in: huge), ["f:1:1: 16 MiB"])
    }

    @Test("the number of values is limited; values in `routes` do not count")
    func values() throws {
        let list = "allow: [" + String(repeating: "a, ", count: YAMLReader.maximumValues) + "a]\n"
        let text = Array((isp + list).utf8)
        let reader = YAMLReader(text)
        #expect(reader.root == nil)
        #expect(
            reader.complaints.map(\.message) == [
                "the file has more than \(YAMLReader.maximumValues) values"
            ]
        )
        var taken = 0
        let item = "- {domains: [a], upstreams: [isp]}\n"
        let routes = "routes:\n" + String(repeating: item, count: YAMLReader.maximumValues / 5)
        let whole = YAMLReader(Array((isp + routes).utf8)) { _ in
            taken += 1
            return nil
        }
        #expect(whole.complaints.isEmpty && taken == YAMLReader.maximumValues / 5)
        #expect(!YAMLReader(Array((isp + routes).utf8)).complaints.isEmpty)
    }

    @Test("the reader passes only items of the top-level list `routes` to the handler")
    func taking() {
        var taken: [YAMLPlace] = []
        let text = "x: {routes: [1]}\nroutes: [a, [b]]\ny: [c]\n"
        let reader = YAMLReader(Array(text.utf8)) { node in
            taken.append(node.place)
            return nil
        }
        #expect(taken == [YAMLPlace(line: 2, column: 10), YAMLPlace(line: 2, column: 13)])
        #expect(reader.root?["x"]?["routes"]?.inline == "[1]")
        #expect(reader.root?["y"]?.inline == "[c]")
        guard case .taken = reader.root?["routes"]?.content else {
            Issue.record("the items are in the tree")
            return
        }
    }

    @Test("nesting above the limit is an error", arguments: ["[", "{a: ", "- ", "? "])
    func depth(opening: String) {
        let text =
            isp + "x: " + (opening == "[" || opening == "{a: " ? "" : "\n  ")
            + String(repeating: opening, count: 200_000)
        let found = problems(in: text)
        #expect(found.count == 1)
        #expect(found.first?.contains("values are nested more than 16 deep") == true, "\(found)")
    }

    @Test("an alias bomb is rejected at its first anchor")
    func aliases() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...40 {
            let aliases = repeatElement("*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(problems(in: text).count == SettingsReading.maximumProblems)
        #expect(problems(in: text).first?.hasPrefix("f:1:5: anchors") == true)
    }

    @Test("an unreadable file is an error with the reason")
    func unreadableFiles() throws {
        let folder = try TemporaryFolder()
        func message(_ path: String) -> String? {
            do throws(SettingsErrors) {
                _ = try Settings.load(file: path, environment: SettingsEnvironment())
                return nil
            } catch {
                return error.description
            }
        }
        let absent = "\(folder.path)/absent.yaml"
        #expect(message(absent) == "\(absent): the file cannot be read: No such file or directory")
        #expect(message(folder.path) == "\(folder.path): the file is a directory, not a file")
        #expect(message("/dev/zero") == "/dev/zero: the file is not a regular file")
        // To read from a pipe without a writer would block forever.
        let pipe = "\(folder.path)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(
            message(pipe) == "\(pipe): the file is a pipe;"
                + " use a regular file, because each reload reads the file again"
        )
        let large = try folder.write(
            [UInt8](repeating: 0x23, count: YAMLReader.maximumOctets + 1),
            to: "large.yaml"
        )
        #expect(message(large) == "\(large): the file is longer than 16 MiB")
        let good = try folder.write(isp, to: "good.yaml")
        #expect(message(good) == nil)
    }

    @Test("a snapshot path that is a directory is an error")
    func snapshotIsDirectory() {
        var environment = SettingsEnvironment()
        environment.isDirectory = { $0 == "/srv" }
        let text = isp + "cache: {snapshot: /srv}\n"
        do throws(SettingsErrors) {
            _ = try Settings(parsing: Array(text.utf8), fileName: "f", environment: environment)
            Issue.record("no error")
        } catch {
            #expect("\(error)".contains("f:2:19: /srv is a directory"))
        }
    }

    @Test("a snapshot path with a file that the daemon does not replace is a warning")
    func snapshotIsForeign() throws {
        let folder = try TemporaryFolder()
        let foreign = try folder.write("token: 0123456789\n", to: "foreign")
        let zeros = try folder.write([UInt8](repeating: 0, count: 100), to: "zeros")
        func warnings(_ path: String, _ environment: SettingsEnvironment) throws -> [String] {
            let text = isp + "cache: {snapshot: \(path)}\n"
            return try settings(of: text, environment: environment).warnings.map { "\($0)" }
                .filter { !$0.contains("httpdnsd.service") }
        }
        for environment in [SettingsEnvironment.check, .reload] {
            expectErrors(
                try warnings(foreign, environment),
                ["f:2:19: \(foreign) is not a cache snapshot: not be saved `auto`"]
            )
            expectErrors(
                try warnings("/dev/null", environment),
                ["f:2:19: /dev/null is not a regular file: not be saved `auto`"]
            )
            #expect(try warnings(zeros, environment).isEmpty)
            #expect(try warnings(folder.path + "/new", environment).isEmpty)
        }
        #expect(try warnings(foreign, .process).isEmpty)
    }

    @Test("a hosts file that the daemon ignores, because it is not a regular file, is a warning")
    func irregularHosts() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("192.0.2.1 a.example\n", to: "hosts")
        let pipe = folder.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        for environment in [SettingsEnvironment.check, .reload] {
            for (path, reason) in [
                (file, nil), (folder.path, "because it is a directory"),
                (pipe, "because it is a pipe"), ("/dev/zero", "because it is not a regular file"),
            ] as [(String, String?)] {
                let text = isp + "hosts: {files: [\(path)]}\n"
                let warnings = try settings(of: text, environment: environment).warnings
                    .map { "\($0)" }
                    .filter { $0.contains("`hosts.files`") && $0.contains("ignores") }
                expectErrors(warnings, reason.map { ["f:2:17: \(path) \($0)"] } ?? [])
            }
        }
    }

    @Test(
        "`--check` warns of port 0 in `listen`; the daemon does not warn, for tests use this port"
    )
    func portZero() throws {
        let text = isp + "listen: [\"127.0.0.1:53\", \"127.0.0.1:0\"]\n"
        var environment = SettingsEnvironment()
        #expect(try settings(of: text, environment: environment).warnings.isEmpty)
        environment.passesOverCredentials = true
        let warnings = try settings(of: text, environment: environment).warnings.map { "\($0)" }
        expectErrors(warnings, ["f:2:26: `127.0.0.1:0` port (use port 53)"])
    }

    @Test("a control socket without write permission is a warning")
    func closedControlSocket() throws {
        for (mode, isClosed) in [("0000", true), ("0440", true), ("0600", false), ("0060", false)] {
            let warnings = try settings(of: isp + "control: {mode: \"\(mode)\"}\n").warnings
            expectErrors(
                warnings.map { "\($0)" },
                isClosed ? ["f:2:17: no user except root \"0660\" `httpdns`"] : []
            )
        }
    }

    @Test("a state directory that is not an absolute path is a warning")
    func stateDirectory() throws {
        for (list, isIgnored) in [
            (nil, false), ("/srv/a", false), ("/srv/a:b", false), ("", true), ("a", true),
            ("a:/srv/b", true), (":/srv/b", true),
        ] as [(String?, Bool)] {
            var environment = SettingsEnvironment()
            environment.stateDirectories = list
            func warnings(_ text: String) throws -> [String] {
                try settings(of: isp + text, environment: environment).warnings.map { "\($0)" }
            }
            let expected = "f: $STATE_DIRECTORY \"\(list ?? "")\" /var/lib/httpdnsd"
            let unsaved = " does not save the cache absolute path"
            expectErrors(try warnings(""), isIgnored ? [expected + unsaved] : [])
            expectErrors(try warnings("cache: {snapshot: off}\n"), isIgnored ? [expected] : [])
        }
    }

    @Test("`dns64` without `nat64` is a warning")
    func translationOff() throws {
        func warnings(_ text: String) throws -> [String] {
            try Settings(parsing: Array((isp + text).utf8), fileName: "f").warnings.map { "\($0)" }
        }
        #expect(try warnings("nat64: off\n").isEmpty)
        #expect(try warnings("nat64: off\ndns64: off\n").isEmpty)
        expectErrors(try warnings("nat64: off\ndns64: all\n"), ["f:3:8: `dns64` `nat64`"])
    }

    @Test("a snapshot path that is another file of the daemon is an error")
    func snapshotIsOtherFile() {
        let others = "control: {socket: /run/c}\nmetrics: {listen: /run/m}\n"
        for path in [
            "/run/c", "/run/m", "/var/lib/httpdnsd/usage.state", "/var/lib/httpdnsd/fleet.state",
            "/etc/h.yaml",
        ] {
            let text = isp + others + "cache: {snapshot: \(path)}\n"
            let error = #expect(throws: SettingsErrors.self) {
                try Settings(parsing: text, fileName: "/etc/h.yaml")
            }
            let problems = error?.problems.map { "\($0)" } ?? []
            expectErrors(problems, ["/etc/h.yaml:4:19: \(path) another file `auto`"])
        }
    }

    @Test("a snapshot in a missing directory is a warning")
    func missingSnapshotDirectory() throws {
        var environment = SettingsEnvironment()
        environment.mayBeDirectory = { $0 != "/missing" }
        func warnings(_ path: String) throws -> [String] {
            let text = isp + "cache: {snapshot: \(path)}\n"
            return try Settings(
                parsing: Array(text.utf8),
                fileName: "f",
                environment: environment
            ).warnings.map { "\($0)" }
        }
        #expect(try warnings("/var/lib/httpdnsd/cache.snapshot").isEmpty)
        expectErrors(try warnings("/missing/cache.snapshot"), ["f:2:19: /missing `auto`"])
    }

    @Test(
        "a control or metrics socket that cannot be opened is a warning",
        arguments: [
            "control: {socket: PATH, group: root}", "metrics: {listen: [PATH], group: root}",
        ]
    )
    func sockets(_ setting: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("not a socket", to: "file.sock")
        let start = try #require(setting.firstRange(of: "PATH")).lowerBound
        let column = setting.distance(from: setting.startIndex, to: start) + 1
        func warnings(_ path: String, _ environment: SettingsEnvironment) throws -> [String] {
            let text = isp + setting.replacing("PATH", with: path) + "\n"
            return try settings(of: text, environment: environment).warnings.map { "\($0)" }
        }
        for environment in [SettingsEnvironment.check, .reload] {
            expectErrors(try warnings(file, environment), ["f:2:\(column): \(file) not a socket"])
            expectErrors(
                try warnings("\(file).d/c.sock", environment),
                ["f:2:\(column): \(file).d does not exist"]
            )
            #expect(try warnings("\(file).new", environment).isEmpty)
        }
        // At its start, the daemon does not examine the directory, because it must not wait for the
        // disk.
        #expect(try warnings(file, .process).isEmpty)
        // No warning, because the directory of the default path exists only while the service runs.
        var environment = SettingsEnvironment()
        environment.mayBeDirectory = { _ in false }
        #expect(try warnings("/run/httpdnsd/other.sock", environment).isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test("an interface that does not exist is a warning")
    func absentInterface() throws {
        let text = """
            upstreams: [{name: isp, url: "udp://[fe80::1%nosuch0]"}]
            listen: ["[fe80::7%nosuch1]:5300"]
            allow: ["fe80::/10", "::1"]
            metrics: {listen: "[fe80::7%nosuch2]"}

            """
        for environment in [SettingsEnvironment.check, .reload] {
            let warnings = try settings(of: text, environment: environment).warnings
            expectErrors(
                warnings.map { "\($0)" }.filter { $0.contains("the interface") },
                [
                    "f:1:30: `nosuch0` does not exist", "f:2:10: `nosuch1` does not exist",
                    "f:4:19: `nosuch2` does not exist",
                ]
            )
        }
        #expect(try settings(of: text, environment: .process).warnings.isEmpty)
    }

    @Test("--check warns about a file that only root can read", .enabled(if: geteuid() == 0))
    func onlyForRoot() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(isp, to: "closed.yaml")
        var environment = SettingsEnvironment()
        environment.passesOverCredentials = true
        for (mode, isClosed) in [(mode_t(0o600), true), (0o640, true), (0o644, false)] {
            try #require(chmod(path, mode) == 0)
            let warnings = try Settings.load(file: path, environment: environment).warnings
            let isWarned = warnings.contains { "\($0)".contains("run `chmod 644 \(path)`") }
            #expect(isWarned == isClosed, "\(warnings)")
        }
        try #require(chmod(path, 0o600) == 0)
        #expect(try Settings.load(file: path, environment: SettingsEnvironment()).warnings.isEmpty)
    }

    @Test("--check warns about each path that only root can read", .enabled(if: geteuid() == 0))
    func onlyForRootPaths() throws {
        let folder = try TemporaryFolder()
        let root = folder.path
        try #require(chmod(root, 0o755) == 0)
        for (name, mode) in [
            ("closed", mode_t(0o700)), ("drop.yaml.d", 0o711), ("link.yaml.d", 0o755),
        ] {
            try #require(
                mkdir("\(root)/\(name)", 0o755) == 0 && chmod("\(root)/\(name)", mode) == 0
            )
        }
        let system = "/etc/ssl/certs/ca-certificates.crt"
        let certificates = try RegularFile(system).read(atMost: 1 << 20)
        let closed = try folder.write(certificates, to: "closed.pem", mode: 0o640)
        let inside = try folder.write(certificates, to: "closed/open.pem", mode: 0o644)
        let open = try folder.write(certificates, to: "open.pem", mode: 0o644)
        let drop = try folder.write("cache: {size: 32MiB}", to: "closed/a.yaml", mode: 0o644)
        let link = "\(root)/link.yaml.d/a.yaml"
        try #require(symlink(drop, link) == 0)
        let upstream = { (path: String) in
            "upstreams: [{name: a, url: \"tls://192.0.2.1\", ca-file: \(path)}]"
        }
        let hosts = { (path: String) in isp + "hosts: {files: [\(path)]}" }
        var environment = SettingsEnvironment()
        environment.passesOverCredentials = true
        let cases: [(text: String, name: String, culprit: String?, command: String)] = [
            (isp, "plain.yaml", nil, ""), (upstream(open), "plain.yaml", nil, ""),
            (hosts(open), "plain.yaml", nil, ""), (hosts("\(root)/none"), "plain.yaml", nil, ""),
            (upstream(closed), "plain.yaml", closed, "644"),
            (upstream(inside), "plain.yaml", "\(root)/closed", "755"),
            (hosts(closed), "plain.yaml", closed, "644"),
            (isp, "drop.yaml", "\(root)/drop.yaml.d", "755"),
            (isp, "link.yaml", "\(root)/closed", "755"),
        ]
        for (text, name, culprit, command) in cases {
            let file = try folder.write(text, to: name, mode: 0o644)
            let found = try Settings.load(file: file, environment: environment).warnings
                .map { "\($0)" }.filter { $0.contains("only root") }
            #expect(found.count == (culprit == nil ? 0 : 1), "\(found)")
            guard let culprit, let warning = found.first else { continue }
            #expect(warning.contains("only root can read \(culprit): httpdnsd.service"))
            #expect(warning.contains("`chmod \(command) \(culprit)`"))
        }
        // No warning, because a draft of the settings can be in any directory.
        let draft = try folder.write(isp, to: "closed/draft.yaml", mode: 0o644)
        #expect(try Settings.load(file: draft, environment: environment).warnings.isEmpty)
    }
}
