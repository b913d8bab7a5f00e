// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("README and user documentation")
struct ReadmeTests {
    private static let pages = [
        "README.md", "docs/architecture.md", "docs/migration.md", "docs/operations.md",
        "docs/performance.md",
    ]

    private static func blocks(
        _ language: String,
        of page: String = "README.md"
    ) throws -> [String] {
        try Repository.text(page)
            .matches(of: "(?s)```\(language)\n(.*?)```").map { $0[1] }
    }

    @Test("the scripts in README.md exist and are executable")
    func scripts() throws {
        let text = try Repository.text("README.md")
        let scripts = Set(
            try text.matches(of: #"\b(?:scripts|bench)/[a-z-]+\b|\.ci/run\b"#).map { $0[0] }
        )
        #expect(scripts.count > 2)
        for script in scripts {
            let path = Repository.root.appending(path: script).path
            #expect(FileManager.default.isExecutableFile(atPath: path), "\(script)")
        }
    }

    @Test("the paths in README.md exist")
    func places() throws {
        let text = try Repository.text("README.md")
        let places = try text.matches(of: #"(?<!/)\b(?:Sources|config|systemd)/[\w./-]*\w"#).map {
            $0[0]
        }
        #expect(places.count > 2)
        for place in Set(places) {
            let path = Repository.root.appending(path: place).path
            #expect(FileManager.default.fileExists(atPath: path), "\(place)")
        }
    }

    @Test("each generated part of docs/reliability.md has a begin and an end marker")
    func markers() throws {
        let text = try Repository.text("docs/reliability.md")
        let begins = try text.matches(of: "<!-- ([a-z-]+): begin -->").map { $0[1] }
        let ends = try text.matches(of: "<!-- ([a-z-]+): end -->").map { $0[1] }
        #expect(!begins.isEmpty && begins == ends)
    }

    @Test("links in the documentation have valid targets", arguments: pages)
    func links(_ page: String) throws {
        let folder = Repository.root.appending(path: page).deletingLastPathComponent()
        for link in try Repository.text(page).matches(
            of: #"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)"#
        ) {
            let target =
                link[1].isEmpty
                ? Repository.root.appending(path: page) : folder.appending(path: link[1])
            let text = try? String(contentsOf: target, encoding: .utf8)
            let headings = (text ?? "").split(separator: "\n").filter { $0.hasPrefix("#") }
                .map { heading in
                    heading.drop { $0 == "#" || $0 == " " }.lowercased()
                        .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
                        .replacingOccurrences(of: " ", with: "-")
                }
            #expect(text != nil && (link[2].isEmpty || headings.contains(link[2])), "\(link[0])")
        }
    }

    @Test("the recorded tour in the documentation has the commands of scripts/record-tour")
    func tour() throws {
        let recording = try Repository.text("docs/first-ten-minutes.txt")
        let typed = try Repository.text("scripts/record-tour").matches(of: #"^enter '(.*)'$"#)
        #expect(typed.count > 20)
        for line in typed.map({ $0[1].replacingOccurrences(of: #"'"'"'"#, with: "'") }) {
            #expect(recording.contains("$ \(line)\n"), "\(line)")
        }
        #expect(recording.hasSuffix("All checks passed.\n"))
    }

    @Test("the httpdnsctl verbs in README.md exist")
    func verbs() throws {
        let help = try Run.product("httpdnsctl", "--help").output
        let list = try #require(help.components(separatedBy: "SUBCOMMANDS:").last)
        let verbs = Set(try list.matches(of: #"^  ([a-z]+)\b"#).map { $0[1] })
        #expect(verbs.contains("status"))
        let commands = try Self.blocks("sh").joined(separator: "\n")
            .matches(of: #"\bhttpdnsctl +(?:--\w+ +)*([a-z]+)"#)
        #expect(!commands.isEmpty)
        for command in commands { #expect(verbs.contains(command[1]), "\(command[0])") }
    }

    @Test("the settings in the documentation are valid")
    func settings() throws {
        let place = FileManager.default.temporaryDirectory
            .appending(path: "house-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        for (name, secret) in [
            ("token", "987654321"), ("aes", "1234567890123456"), ("des", "testkey1"),
        ] {
            let file = place.appending(path: "tencent.\(name)")
            try Data(secret.utf8).write(to: file)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600],
                ofItemAtPath: file.path
            )
        }
        let blocks = try Self.pages.flatMap { try Self.blocks("yaml", of: $0) }
        #expect(blocks.count > 1)
        for (index, block) in blocks.enumerated() {
            let file = place.appending(path: "\(index).yaml")
            try block.replacingOccurrences(of: "/etc/httpdnsd/", with: place.path + "/")
                .write(to: file, atomically: false, encoding: .utf8)
            let run = try Run.product("httpdnsd", "--config", file.path, "--check")
            #expect(run.code == 0, "\(run.errors)\n\(block)")
        }
    }
}

@Suite("Manual pages")
struct ManualTests {
    @Test(
        "each option of a program is in its manual page",
        arguments: [
            ("httpdnsd", "httpdnsd.8", [""]),
            (
                "httpdnsctl", "httpdnsctl.1",
                [
                    "", "status", "stats", "top", "lookup", "explain", "resolve", "dump", "flush",
                    "pause", "resume", "watch", "reload", "check", "settings", "routes",
                    "log-level", "setup", "doctor", "version", "completion",
                ]
            ),
            ("httpdns-emulator", "httpdns-emulator.1", [""]),
        ]
    )
    func options(_ program: String, _ page: String, _ verbs: [String]) throws {
        let text = try Repository.text("man/\(page)")
        for verb in verbs {
            let help = try Run(
                Run.product(program),
                (verb.isEmpty ? [] : [verb]) + ["--help"]
            ).output
            let options = Set(try help.matches(of: #"^  (?:-h, )?--([a-z-]+)"#).map { $0[1] })
            #expect(options.contains("help"))
            for option in options.sorted() {
                #expect(text.contains("Fl -\(option)"), "--\(option)")
            }
        }
    }

    @Test("each setting is in its manual page")
    func settings() throws {
        let page = try Repository.text("man/httpdnsd.yaml.5")
        let manual = try Run.product("httpdnsd", "--print-config").output
        let keys = Set(try manual.matches(of: #"^#? *(?:- )?([a-z-]+):(?: |$)"#).map { $0[1] })
        #expect(keys.isSuperset(of: ["listen", "vendors", "client-subnet", "fallback"]))
        let names = ["tencent", "alibaba", "json", "baidu", "volcengine"]
        for key in keys.subtracting(names).sorted() {
            #expect(page.contains(".It Ic \(key)\n"), "\(key)")
        }
    }
}

@Suite("Memory limits")
struct MemoryLimitTests {
    private func limit(_ file: String) throws -> Int {
        let found = try Repository.text("systemd/\(file)").matches(of: #"^MemoryMax=(\d+)M$"#)
        return try #require(found.first.flatMap { Int($0[1]) })
    }

    @Test("each memory limit of the systemd units exceeds the total in docs/reliability.md")
    func sum() throws {
        let page = try Repository.text("docs/reliability.md")
        let part = try #require(page.matches(of: #"(?s)^## Memory limits\n(.*?)^## "#).first)[1]
        let rows = try part.matches(of: #"^\| (.*) \| [^|]* \| [^|]* \| ([^|]*\d[^|]*) \|$"#)
        #expect(rows.count > 20)
        var sums = (plain: 0, accelerated: 0)
        for row in rows {
            let most = try row[2].matches(of: #"\d+"#).compactMap { Int($0[0]) }.max() ?? 0
            sums.accelerated += most
            if !row[1].contains("with acceleration only") { sums.plain += most }
        }
        #expect(
            part.contains("is \(sums.plain) MiB, and \(sums.accelerated) MiB with acceleration")
        )
        #expect(try sums.plain < limit("httpdnsd.service"))
        #expect(try sums.accelerated < limit("httpdnsd-accelerate.conf"))
    }
}
