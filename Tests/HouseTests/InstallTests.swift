// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A place where `scripts/install` puts things, removed with this object.
private final class Tree: Sendable {
    let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "tree-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    /// Runs the script here, with the programs of this build.
    @discardableResult
    func install(_ arguments: String...) throws -> Run {
        let run = try Run(
            Repository.root.appending(path: "scripts/install"),
            ["--destdir", root.path, "--bin", Run.product("").path] + arguments
        )
        try #require(run.code == 0, "\(run.errors)")
        return run
    }

    /// The files, by their paths here.
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

    @Test("installs everything that there is, and takes away all but the settings")
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
            // A page for each program, and the one of the settings.
            let name = (program as NSString).lastPathComponent
            #expect(pages.contains { $0.hasPrefix("\(name).") })
        }
        for unit in ["httpdnsd.service", "httpdnsd.socket"] {
            #expect(files.contains("etc/systemd/system/\(unit)"))
        }
        #expect(files.contains("usr/local/share/doc/httpdnsd/httpdnsd-accelerate.conf"))
        let service = try tree.text("etc/systemd/system/httpdnsd.service")
        #expect(service.contains("ExecStart=/usr/local/sbin/httpdnsd "))
        #expect(service.contains("ExecReload=/usr/local/bin/httpdnsctl "))
        let manual = try Run.product("httpdnsd", "--print-config").output
        #expect(try tree.text(settings) == manual)
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

    @Test("keeps settings that were changed, and puts the new manual beside them")
    func keeps() throws {
        let tree = try Tree()
        try tree.install()
        try tree.write("mine\n", to: settings)
        #expect(try tree.install().output.contains("Kept your"))
        #expect(try tree.text(settings) == "mine\n")
        #expect(try tree.text("\(settings).new").contains("\nlisten:"))
        try tree.install("--uninstall")
        #expect(try tree.files == [settings])
        #expect(try tree.text(settings) == "mine\n")
    }

    @Test("puts the units where a distribution has them, below /usr")
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
        "bash completes with what was installed",
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
        // What bash does when somebody presses Tab.
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

    @Test("each shell gets a script of its own from the verb", arguments: ["bash", "zsh", "fish"])
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

/// What systemd itself says of the units.
@Suite(
    "systemd's units",
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"),
        "apt-get install systemd"
    )
)
struct UnitTests {
    private let analyze = URL(filePath: "/usr/bin/systemd-analyze")

    @Test("are right, with the programs where they are installed")
    func verify() throws {
        let tree = try Tree()
        try tree.install()
        for unit in ["httpdnsd.service", "httpdnsd.socket"] {
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
            [
                "verify", "--man=no", units.appending(path: "httpdnsd.service").path,
                units.appending(path: "httpdnsd.socket").path,
            ]
        )
        #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test("leave an attacker little: an exposure of 1.2 or less")
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

    @Test("name what the settings listen on by default")
    func addresses() throws {
        let unit = try Repository.text("systemd/httpdnsd.socket")
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
