// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private final class Tree: Sendable {
    let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "tree-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    @discardableResult
    func install(_ arguments: String...) throws -> Run {
        let run = try Run(
            Repository.root.appending(path: "scripts/install"),
            ["--destdir", root.path, "--bin", Run.product("").path] + arguments
        )
        try #require(run.code == 0, "\(run.errors)")
        return run
    }

    var files: Set<String> {
        get throws {
            Set(
                try FileManager.default.subpathsOfDirectory(atPath: root.path).filter {
                    var isDirectory: ObjCBool = false
                    let path = root.appending(path: $0).path
                    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
                        && !isDirectory.boolValue
                }
            )
        }
    }

    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(
            at: root.appending(path: path),
            withIntermediateDirectories: true
        )
    }

    func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    func write(_ text: String, to path: String) throws {
        try text.write(to: root.appending(path: path), atomically: false, encoding: .utf8)
    }
}

@Suite("scripts/install")
struct InstallTests {
    private let settings = "etc/httpdnsd/httpdnsd.yaml"

    @Test("scripts/install installs all files, and uninstalls all files except the settings")
    func everything() throws {
        let tree = try Tree()
        try tree.install()
        let files = try tree.files
        let pages = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "man").path
        )
        for page in pages {
            let section = (page as NSString).pathExtension
            #expect(files.contains("usr/local/share/man/man\(section)/\(page)"))
        }
        for program in ["sbin/httpdnsd", "bin/httpdnsctl", "bin/httpdns-emulator"] {
            let path = tree.root.appending(path: "usr/local/\(program)").path
            #expect(FileManager.default.isExecutableFile(atPath: path))
            let name = (program as NSString).lastPathComponent
            #expect(pages.contains { $0.hasPrefix("\(name).") })
        }
        for unit in UnitTests.units { #expect(files.contains("etc/systemd/system/\(unit)")) }
        #expect(files.contains("usr/local/share/doc/httpdnsd/httpdnsd-accelerate.conf"))
        let service = try tree.text("etc/systemd/system/httpdnsd.service")
        #expect(service.contains("ExecStart=/usr/local/sbin/httpdnsd "))
        #expect(service.contains("ExecReload=/usr/local/bin/httpdnsctl "))
        let manual = try Run.product("httpdnsd", "--print-config").output
        #expect(try tree.text("usr/local/share/doc/httpdnsd/httpdnsd.yaml") == manual)
        #expect(try tree.text(settings) == Repository.text("config/minimal.yaml"))
        let schema = try Run.product("httpdnsd", "--print-schema").output
        #expect(try tree.text("usr/local/share/httpdnsd/httpdnsd.schema.json") == schema)
        let dashboard = try tree.text("usr/local/share/httpdnsd/grafana/httpdnsd.json")
        #expect(dashboard.contains("\"schemaVersion\""))
        let examples = "usr/local/share/doc/httpdnsd/examples"
        #expect(try tree.text("\(examples)/one-vendor.yaml").contains("\nvendors:"))
        #expect(files.filter { $0.hasPrefix(examples) }.count >= 5)

        try tree.install("--uninstall")
        #expect(try tree.files == [settings])
    }

    @Test("uninstalling keeps directories that other programs also use")
    func keepsDirectories() throws {
        let tree = try Tree()
        try tree.install()
        try tree.install("--uninstall")
        for directory in ["bin", "sbin", "share/man/man1", "share/doc"] {
            #expect(tree.exists("usr/local/\(directory)"))
        }
        #expect(!tree.exists("usr/local/share/doc/httpdnsd"))
        #expect(!tree.exists("usr/local/share/httpdnsd"))
    }

    @Test("uninstalling first reverts `httpdnsctl setup`")
    func revertsSetup() throws {
        let tree = try Tree()
        try tree.install()
        try tree.write("nameserver 192.0.2.53\n", to: "etc/resolv.conf")
        let setup = [
            "setup", "apply", "--root", tree.root.path, "--server", "127.0.0.1", "--force",
        ]
        let run = try Run(Run.product("httpdnsctl"), setup)
        try #require(run.code == 0, "\(run.errors)")
        try #require(try tree.text("etc/resolv.conf").contains("nameserver 127.0.0.1"))
        #expect(try tree.install("--uninstall").output.contains("Reverted"))
        #expect(try tree.text("etc/resolv.conf") == "nameserver 192.0.2.53\n")
    }

    @Test("uninstalling stops if `httpdnsctl setup` cannot be reverted")
    func refusesWithoutRevert() throws {
        let tree = try Tree()
        try tree.install()
        let journal = "var/lib/httpdnsd-setup/journal.json"
        try tree.makeDirectory("var/lib/httpdnsd-setup")
        try tree.write("damaged\n", to: journal)
        let run = try Run(
            Repository.root.appending(path: "scripts/install"),
            ["--destdir", tree.root.path, "--uninstall"]
        )
        #expect(run.code == 1)
        #expect(run.errors.contains(journal) && run.errors.contains("--force"))
        #expect(tree.exists("usr/local/sbin/httpdnsd"))
    }

    @Test("uninstalling finds the drop-in of `httpdnsctl setup` even if the setup journal is lost")
    func findsDropIn() throws {
        let tree = try Tree()
        try tree.install()
        let dropIn = "etc/systemd/resolved.conf.d/zz-httpdnsd.conf"
        try tree.makeDirectory("etc/systemd/resolved.conf.d")
        try tree.write("# Written by httpdnsctl setup\n[Resolve]\nDNS=127.0.0.1\n", to: dropIn)
        let run = try Run(
            Repository.root.appending(path: "scripts/install"),
            ["--destdir", tree.root.path, "--uninstall"]
        )
        #expect(run.code == 1 && run.errors.contains(dropIn), "\(run.errors)")
        let revert = ["setup", "revert", "--force", "--root", tree.root.path]
        #expect(try Run(Run.product("httpdnsctl"), revert).code == 0)
        #expect(try !tree.install("--uninstall").output.contains("setup"))
        #expect(!tree.exists(dropIn) && !tree.exists("usr/local/sbin/httpdnsd"))
    }

    @Test(
        "an upgrade checks the settings that the service uses",
        arguments: [
            ("--config /etc/other.yaml", "/etc/other.yaml"), ("--config=/etc/b", "/etc/b"),
            ("--log-level debug", "/etc/httpdnsd/httpdnsd.yaml"),
        ]
    )
    func settingsInUse(_ options: String, _ expected: String) throws {
        let tree = try Tree()
        try tree.makeDirectory("")
        let script = """
            settings=/etc/httpdnsd/httpdnsd.yaml
            systemctl() { echo "{ path=/httpdnsd ; argv[]=/httpdnsd \(options) ; pid=0 }"; }
            eval "$(sed -n '/^settings_in_use()/,/^}/p' "\(
                Repository.root.appending(path: "scripts/install").path
            )")"
            settings_in_use
            """
        try tree.write(script, to: "script")
        let run = try Run(
            URL(filePath: "/bin/bash"),
            [tree.root.appending(path: "script").path]
        )
        #expect(run.code == 0 && run.output == expected + "\n", "\(run.errors)")
        let check = try Repository.text("scripts/install").matches(of: "--check --config (.*) >")
        #expect(check.map { $0[1] } == [#""$config""#])
    }

    @Test("before the script replaces or removes an edited unit, it saves a copy of the unit")
    func editedUnits() throws {
        let tree = try Tree()
        let units = "etc/systemd/system"
        try tree.install()
        #expect(try !tree.install().output.contains(".before-install"))
        // The record has checksums, by which the script recognizes unchanged units of an earlier
        // version.
        let service = "\(units)/httpdnsd.service"
        let record = "usr/local/share/httpdnsd/units.sha256"
        let sums = try tree.text(record)
        let socket = try tree.text("\(units)/httpdnsd.socket")
        let edited = socket + "# ListenStream=192.0.2.1:53\n"
        try tree.write(edited, to: "\(units)/httpdnsd.socket")
        let run = try tree.install()
        #expect(run.output.contains("systemctl edit httpdnsd.socket"))
        #expect(try tree.text("\(units)/httpdnsd.socket.before-install") == edited)
        #expect(try tree.text("\(units)/httpdnsd.socket") == socket)
        #expect(try tree.text(record) == sums)
        #expect(!tree.exists(service + ".before-install"))

        let earlier = "# an earlier version\n"
        try tree.write(earlier, to: service)
        let sum = try Run(
            URL(filePath: "/usr/bin/sha256sum"),
            [tree.root.appending(path: service).path]
        )
        let line = "\(sum.output.prefix(64)) httpdnsd.service\n"
        try tree.write(line, to: record)
        try tree.install()
        #expect(!tree.exists(service + ".before-install"))

        try tree.write(edited, to: service)
        try tree.install("--uninstall")
        #expect(
            try tree.files == [
                settings, service + ".before-install", "\(units)/httpdnsd.socket.before-install",
            ]
        )
        #expect(try tree.text(service + ".before-install") == edited)
    }

    @Test("the script does not change or copy a masked unit")
    func maskedUnits() throws {
        let tree = try Tree()
        let unit = "etc/systemd/system/httpdnsd-ipv6.socket"
        let path = tree.root.appending(path: unit).path
        let record = "usr/local/share/httpdnsd/units.sha256"
        func isMasked() throws -> Bool {
            try FileManager.default.destinationOfSymbolicLink(atPath: path) == "/dev/null"
        }
        try tree.makeDirectory("etc/systemd/system")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        for _ in 1...2 {
            let run = try tree.install()
            #expect(run.output.contains("systemctl unmask httpdnsd-ipv6.socket"), "\(run.output)")
            #expect(try isMasked() && !tree.exists(unit + ".before-install"))
            #expect(try !tree.text(record).contains("ipv6"))
        }
        try tree.install("--uninstall")
        #expect(try isMasked() && !tree.exists(unit + ".before-install"))
        #expect(!tree.exists("etc/systemd/system/httpdnsd.socket"))
    }

    @Test("if the settings file is a link without a target, the script installs nothing")
    func danglingSettings() throws {
        let tree = try Tree()
        let path = tree.root.appending(path: settings).path
        try tree.makeDirectory("etc/httpdnsd")
        try FileManager.default.createSymbolicLink(
            atPath: path,
            withDestinationPath: "/nonexistent/httpdnsd.yaml"
        )
        let run = try Run(
            Repository.root.appending(path: "scripts/install"),
            ["--destdir", tree.root.path, "--bin", Run.product("").path]
        )
        #expect(run.code == 1)
        #expect(run.errors.contains("/nonexistent/httpdnsd.yaml, which does not exist"))
        #expect(!tree.exists("usr"))
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: path)
        #expect(target == "/nonexistent/httpdnsd.yaml")
    }

    @Test("installing keeps existing settings")
    func keeps() throws {
        let tree = try Tree()
        try tree.install()
        try tree.write("mine\n", to: settings)
        try tree.write("manual\n", to: "\(settings).new")
        #expect(try tree.install().output.contains("Kept your"))
        #expect(try tree.text(settings) == "mine\n")
        #expect(!tree.exists("\(settings).new"))
        try tree.install("--uninstall")
        #expect(try tree.files == [settings])
        #expect(try tree.text(settings) == "mine\n")
    }

    @Test("the installed settings first name the resolvers that see all names")
    func firstSettings() throws {
        let lines = try Repository.text("config/minimal.yaml").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        #expect(lines.count <= 40)
        let head = lines.prefix(5).joined(separator: " ")
        for words in ["resolvers in China", "doh.pub", "dns.alidns.com", "see every name"] {
            #expect(head.contains(words), "\(words)")
        }
        // The package has no conffile, so dpkg asks no question during an upgrade.
        #expect(try !Repository.text("debian/httpdnsd.install").contains("etc/"))
    }

    @Test("every section of README.md that a script mentions exists")
    func citations() throws {
        let readme = try Repository.text("README.md")
        for script in ["install", "package-deb", "setup", "demo"] {
            let text = try Repository.text("scripts/\(script)")
            for match in try text.matches(of: #"README[^"\n]*"([^"\n]+)""#) {
                #expect(readme.contains("\n## \(match[1])\n"), "\(script): \(match[1])")
            }
        }
    }

    @Test("with --prefix /usr, the script installs the units below /usr/lib")
    func prefix() throws {
        let tree = try Tree()
        try tree.install("--prefix", "/usr")
        let files = try tree.files
        #expect(files.contains("usr/lib/systemd/system/httpdnsd.socket"))
        #expect(files.contains("usr/lib/sysusers.d/httpdns.conf"))
        #expect(files.contains("usr/sbin/httpdnsd"))
        try tree.install("--prefix", "/usr", "--uninstall")
        #expect(try tree.files == [settings])
    }

    @Test(
        "tab completion in bash works with the installed scripts",
        arguments: [
            ("httpdnsctl", "httpdnsctl fl", "flush"),
            ("httpdnsctl", "httpdnsctl flush --so", "--socket"),
            ("httpdnsd", "httpdnsd --print", "--print-config"),
            ("httpdns-emulator", "httpdns-emulator --zo", "--zone"),
        ]
    )
    func completions(_ program: String, _ line: String, _ expected: String) throws {
        let tree = try Tree()
        try tree.install()
        let script = """
            set -e
            source "$1"
            read -ra COMP_WORDS <<<"$2"
            COMP_LINE=$2 COMP_POINT=${#2} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
            words=$(complete -p "$3")
            [[ $words =~ -F\\ ([^ ]+) ]]
            "${BASH_REMATCH[1]}" "$3" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}" || true
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let file = tree.root.appending(
            path: "usr/local/share/bash-completion/completions/\(program)"
        )
        let run = try Run(
            URL(filePath: "/bin/bash"),
            ["-c", script, "bash", file.path, line, program]
        )
        let words = run.output.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(run.code == 0 && words.contains(expected), "\(run.output)\(run.errors)")
    }

    @Test(
        "`httpdnsctl completion` prints the installed completion files",
        arguments: ["bash", "zsh", "fish"]
    )
    func verb(_ shell: String) throws {
        let tree = try Tree()
        try tree.install()
        let place =
            switch shell {
            case "bash": "bash-completion/completions/httpdnsctl"
            case "zsh": "zsh/site-functions/_httpdnsctl"
            default: "fish/vendor_completions.d/httpdnsctl.fish"
            }
        let run = try Run.product("httpdnsctl", "completion", shell)
        #expect(run.code == 0)
        #expect(try tree.text("usr/local/share/\(place)") == run.output)
        #expect(run.output.contains("flush"))
    }
}

@Suite(
    "systemd units",
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"),
        "apt-get install systemd"
    )
)
struct UnitTests {
    static let units = ["httpdnsd.service", "httpdnsd.socket", "httpdnsd-ipv6.socket"]

    private let analyze = URL(filePath: "/usr/bin/systemd-analyze")

    @Test("the units are valid with the installed programs")
    func verify() throws {
        let tree = try Tree()
        try tree.install()
        for unit in Self.units {
            let path = "etc/systemd/system/\(unit)"
            let text = try tree.text(path).replacingOccurrences(
                of: "=/usr/local/",
                with: "=\(tree.root.path)/usr/local/"
            )
            try tree.write(text, to: path)
        }
        let units = tree.root.appending(path: "etc/systemd/system")
        let run = try Run(
            analyze,
            ["verify", "--man=no"] + Self.units.map { units.appending(path: $0).path }
        )
        #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test("the exposure level of the service is at most 1.2")
    func exposure() throws {
        let run = try Run(
            analyze,
            [
                "security", "--offline=true", "--threshold=12", "--no-pager",
                Repository.root.appending(path: "systemd/httpdnsd.service").path,
            ]
        )
        let last = run.output.split(separator: "\n").last ?? ""
        #expect(run.code == 0 && last.contains("Overall exposure level"), "\(last)\(run.errors)")
    }

    @Test("if a restart cannot fix an error, the service also stops the socket units")
    func wrongSettings() throws {
        let unit = try Repository.text("systemd/httpdnsd.service")
        #expect(unit.contains("\nRestartPreventExitStatus=2 78 243\n"))
        let stop = try #require(try unit.matches(of: #"^ExecStopPost=-\+(.*\\\n.*)$"#).first?[1])
        #expect(stop.contains(#"case "$$EXIT_STATUS" in 2|78|243)"#))
        for socket in Self.units where socket.hasSuffix(".socket") {
            #expect(stop.contains(socket))
        }
    }

    @Test("the daemon starts before services that start the network")
    func beforeNetwork() throws {
        let unit = try Repository.text("systemd/httpdnsd.service")
        let after = try unit.matches(of: "^After=(.*)$").flatMap { $0[1].split(separator: " ") }
        #expect(after.contains("network-pre.target") && !after.contains("network.target"))
        let before = try unit.matches(of: "^Before=(.*)$").flatMap { $0[1].split(separator: " ") }
        #expect(before.contains("network.target"))
        // With the default dependencies, the daemon and a socket unit that starts after
        // network.target would wait for each other.
        #expect(unit.contains("\nDefaultDependencies=no\n"))
    }

    /// Runs the postinst script of the package as an upgrade.
    private static func upgrade(_ stubs: String) throws -> Run {
        let script = """
            \(stubs)
            deb-systemd-invoke() { echo "$@" >&2; }
            systemctl() {
                if [ "$1" = show ]; then
                    echo "{ path=/httpdnsd ; argv[]=/httpdnsd --config /etc/right ; pid=0 }"
                fi
            }
            [() { case $2 in /run/systemd/system) return 0 ;; esac; builtin [ "$@"; }
            set -- configure 0.1.0
            . "\(Repository.root.appending(path: "debian/httpdnsd.postinst").path)"
            """
        let tree = try Tree()
        try tree.write(script, to: "script")
        return try Run(URL(filePath: "/bin/bash"), [tree.root.appending(path: "script").path])
    }

    @Test("an upgrade does not restart the daemon if the settings have errors")
    func upgrade() throws {
        let cases = [
            ("wrong", "ok", false), ("right", "ok", true), ("right", "unknown option", true),
            ("right", "/etc/token cannot be read: Permission denied", false),
            ("right", "cannot listen on 192.0.2.1:53: no permission", false),
            ("right", "cannot listen on 0.0.0.0:53, because this daemon listens on ::1", true),
            ("right", "no credential; after a restart, this machine would have no DNS", false),
        ]
        for (settings, check, isRestarted) in cases {
            let run = try Self.upgrade(
                """
                httpdnsd() {
                    if [ "$1" = --print-config ]; then
                        echo 'control: {socket: /run/other.sock, mode: "0660"}'
                    else
                        [ "$*" = "--check --config /etc/\(settings)" ]
                    fi
                }
                httpdnsctl() {
                    [ "$*" = "--socket /run/other.sock check" ] || return 3
                    echo "\(check)" >&2
                    [ "\(check)" = ok ]
                }
                """
            )
            #expect(run.code == 0)
            #expect(run.errors.contains("try-restart") == isRestarted, "\(run.errors)")
            #expect(run.errors.contains("not restarted") != isRestarted, "\(run.errors)")
        }
    }

    /// Function `httpdnsctl` that prints `answer` for the default socket; with `none`, no socket exists.
    private static func control(_ answer: String) -> String {
        """
        httpdnsctl() {
            if [ "$2" = /run/httpdnsd/control.sock ] && [ "\(answer)" != none ]; then
                echo "httpdnsctl: \(answer)" >&2
                case "\(answer)" in *reply*|*connection*) return 3 ;; esac
                return 1
            fi
            "\(Run.product("httpdnsctl").path)" --socket "/nonexistent$2" check
        }
        """
    }

    private static let answers = [
        ("none", false), ("ok", true), ("cannot listen on 192.0.2.1:53: in use", false),
        ("no reply on /run/httpdnsd/control.sock within 10 s", true),
        ("the daemon accepts no connection on /run/httpdnsd/control.sock", true),
    ]

    @Test("an upgrade does not restart a daemon that cannot be asked, unless it hangs")
    func unreachable() throws {
        for (answer, isRestarted) in Self.answers {
            let run = try Self.upgrade(
                """
                httpdnsd() { [ "$1" = --check ] || echo 'control: {socket: /run/new.sock, mode: 0}'; }
                \(Self.control(answer))
                """
            )
            #expect(run.code == 0)
            #expect(run.errors.contains("try-restart") == isRestarted, "\(run.errors)")
            #expect(run.errors.contains("not restarted") != isRestarted, "\(run.errors)")
            let reason =
                "could not check the settings: there is no socket /nonexistent/run/new.sock; "
                + "there is no socket /nonexistent/run/httpdnsd/control.sock; the former version"
            #expect(run.errors.contains(reason) == (answer == "none"), "\(run.errors)")
        }
    }

    @Test("scripts/install says why a running daemon could not check the settings")
    func unreachableForInstall() throws {
        let path = Repository.root.appending(path: "scripts/install").path
        for (answer, _) in Self.answers {
            let tree = try Tree()
            let script = """
                set -euo pipefail
                prefix=\(tree.root.path)
                eval "$(sed -n '/^ask_daemon()/,/^}/p' "\(path)")"
                ask_daemon /run/new.sock
                echo "$unasked"
                """
            try tree.makeDirectory("bin")
            try tree.write(
                "#!/bin/bash\n\(Self.control(answer))\nhttpdnsctl \"$@\"",
                to: "bin/httpdnsctl"
            )
            try tree.write(script, to: "script")
            chmod(tree.root.appending(path: "bin/httpdnsctl").path, 0o755)
            let run = try Run(
                URL(filePath: "/bin/bash"),
                [tree.root.appending(path: "script").path]
            )
            let reason =
                "there is no socket /nonexistent/run/new.sock; "
                + "there is no socket /nonexistent/run/httpdnsd/control.sock\n"
            #expect(
                run.code == 0 && run.output == (answer == "none" ? reason : "\n"),
                "\(run.errors)"
            )
        }
    }

    @Test("the scripts recognize the messages of httpdnsctl about a daemon that hangs")
    func hangMessages() throws {
        let client = try ["ControlClient", "Unreachable"].map {
            try Repository.text("Sources/httpdnsctl/Client/\($0).swift")
        }
        #expect(client[0].contains(": no reply, and the daemon does not answer"))
        #expect(client[1].contains("\"the daemon accepts no connection on"))
        for script in ["debian/httpdnsd.postinst", "scripts/install"] {
            let text = try Repository.text(script)
            #expect(text.contains("3:*'no reply'* | 3:*'accepts no connection'*)"), "\(script)")
        }
    }

    private static func remove(_ tree: Tree, _ stubs: String) throws -> Run {
        let script = """
            \(stubs)
            deb-systemd-invoke() { :; }
            set -- remove
            . "\(Repository.root.appending(path: "debian/httpdnsd.prerm").path)"
            """
        try tree.write(script, to: "script")
        return try Run(
            URL(filePath: "/bin/bash"),
            [tree.root.appending(path: "script").path]
        )
    }

    @Test(
        "removing the package reverts `httpdnsctl setup`, even if the setup journal is lost",
        arguments: 1...3
    )
    func removal(_ successfulRun: Int) throws {
        let run = try Self.remove(
            Tree(),
            """
            httpdnsctl() { echo "$@"; [ $# = \(successfulRun + 1) ]; }
            [() { case $2 in /var/lib/*) return 1 ;; esac; builtin [ "$@"; }
            """
        )
        let second = successfulRun == 1 ? "" : "setup revert --force\n"
        #expect(run.code == 0 && run.output == "setup revert\n" + second)
        #expect(run.errors.contains("cannot revert") == (successfulRun == 3))
        #expect(!run.errors.contains("journal.json"))
    }

    @Test("the removal of the package prints nothing if `httpdnsctl setup` was not applied")
    func removalWithoutSetup() throws {
        let tree = try Tree()
        let program = Run.product("httpdnsctl").path
        let run = try Self.remove(
            tree,
            #"httpdnsctl() { "\#(program)" "$@" --root "\#(tree.root.path)"; }"#
        )
        #expect(run.code == 0 && (run.output + run.errors).isEmpty, "\(run.output)\(run.errors)")
    }

    @Test("systemd stops restarting a daemon that crashes at each start")
    func startLimit() throws {
        let unit = try Repository.text("systemd/httpdnsd.service")
        func number(_ option: String, _ unitOfTime: String = "") throws -> Int {
            let pattern = "^\(option)=([0-9]+)\(unitOfTime)$"
            return try #require(try unit.matches(of: pattern).first.flatMap { Int($0[1]) })
        }
        let interval = try number("StartLimitIntervalSec")
        let starts = try number("StartLimitBurst")
        #expect(interval <= 10)
        #expect(starts * (try number("RestartSec", "ms") + 500) < interval * 1000)
    }

    @Test("a host without IPv6 can start the IPv4 sockets and the service")
    func withoutIPv6() throws {
        let ipv6 = try Repository.text("systemd/httpdnsd-ipv6.socket")
        #expect(ipv6.contains("\nConditionPathExists=/proc/net/if_inet6\n"))
        #expect(ipv6.contains("\nRequires=httpdnsd.socket\nAfter=httpdnsd.socket\n"))
        let ipv4 = try Repository.text("systemd/httpdnsd.socket")
        #expect(try ipv4.matches(of: #"^Listen.*=\["#).isEmpty)
        let service = try Repository.text("systemd/httpdnsd.service")
        #expect(service.contains("\nWants=httpdnsd-ipv6.socket\n"))
        #expect(service.contains("\nRequires=httpdnsd.socket\n"))
    }

    @Test("the socket units have the default addresses of the option listen")
    func addresses() throws {
        let unit =
            try Repository.text("systemd/httpdnsd.socket")
            + Repository.text("systemd/httpdnsd-ipv6.socket")
        let manual = try Repository.text("config/httpdnsd.yaml")
        let listen = try #require(try manual.matches(of: #"^listen: \[(.*)\]$"#).first?[1])
        let addresses = try listen.matches(of: #""([^"]+)""#).map { $0[1] }
        #expect(addresses.count == 2)
        for option in ["ListenDatagram", "ListenStream"] {
            let named = try unit.matches(of: "^\(option)=(.+)$").map { $0[1] }
            #expect(named == addresses, "\(option)")
        }
    }
}
