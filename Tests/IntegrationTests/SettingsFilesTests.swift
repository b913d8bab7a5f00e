// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private final class DropIns: Sendable {
    let scratch: Scratch
    let file: String

    init(_ settings: String) throws {
        scratch = try Scratch()
        file = try scratch.write(settings, to: "httpdnsd.yaml")
        try FileManager.default.createDirectory(
            atPath: file + ".d",
            withIntermediateDirectories: false
        )
    }

    func write(_ text: String, to name: String) throws {
        try scratch.write(text, to: "httpdnsd.yaml.d/\(name)")
    }

    func daemon(_ options: String...) throws -> Child.End {
        try run(Product.daemon, ["--config", file] + options)
    }
}

@Suite("Settings in several files", .hangLimit)
struct SettingsFilesTests {
    private let isp = "upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]\n"

    @Test("the daemon reads drop-ins in the order of their names, and ignores other files")
    func order() throws {
        let files = try DropIns(isp + "log: {level: debug}\ncache: {size: 8MiB}\n")
        try files.write("log: {level: warning}\n", to: "9.yaml")
        try files.write("log: {level: error}\nworkers: 2\n", to: "10.yaml")
        for name in [".hidden.yaml", "10.yaml.bak", "README", "a.yml"] {
            try files.write("nonsense: [\n", to: name)
        }
        let end = try files.daemon("--print-config")
        #expect(end.status == 0, "\(end.errors)")
        for line in ["level: warning", "workers: 2", "size: 8MiB"] {
            #expect(end.output.contains(line), "\(line)")
        }
    }

    @Test("an unreadable drop-in is an error, but a missing drop-in directory is no error")
    func unreadable() throws {
        let files = try DropIns(isp)
        #expect(try files.daemon("--check").status == 0)
        try FileManager.default.createDirectory(
            atPath: files.file + ".d/dir.yaml",
            withIntermediateDirectories: false
        )
        let directory = try files.daemon("--check")
        #expect(directory.status == 2)
        #expect(directory.errors.contains("dir.yaml: the file is a directory, not a file"))
        try FileManager.default.removeItem(atPath: files.file + ".d")
        #expect(try files.daemon("--check").status == 0)
        try files.scratch.write("", to: "httpdnsd.yaml.d")
        let noDirectory = try files.daemon("--check")
        #expect(noDirectory.status == 2)
        #expect(noDirectory.errors.contains(".d: the directory cannot be read: Not a directory"))
        try FileManager.default.removeItem(atPath: files.file + ".d")
        try FileManager.default.createDirectory(
            atPath: files.file + ".d",
            withIntermediateDirectories: false
        )
        for number in 0...256 { try files.write("", to: "\(number).yaml") }
        let many = try files.daemon("--check")
        #expect(
            many.errors.contains(".d: the directory contains more than 256 drop-ins"),
            "\(many.errors)"
        )
    }

    @Test("`httpdnsctl reload` and `check` include drop-ins")
    func reload() throws {
        let daemon = try TestDaemon(isp)
        let directory = daemon.file + ".d"
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        let dropIn = directory + "/50-printer.yaml"
        func write(_ text: String) throws {
            try text.write(toFile: dropIn, atomically: false, encoding: .utf8)
        }
        try write("hosts: {records: {printer.lan: [192.0.2.9]}}\n")
        let check = try daemon.control("check")
        #expect(check.status == 0 && check.output.contains("printer.lan"), "\(check.output)")
        #expect(try daemon.control("reload").status == 0)
        #expect(try daemon.dig("printer.lan", "A").text.contains("192.0.2.9"))
        let other = try Scratch()
        let candidate = try other.write(isp + "workers: 0\n", to: "new.yaml")
        try write("hosts: {recrods: {}}\n")
        let both = try daemon.control("check", candidate)
        #expect(both.status == 1)
        #expect(both.errors.contains("new.yaml:2:10: "), "\(both.errors)")
        #expect(both.errors.contains("50-printer.yaml:1:9: "), "\(both.errors)")
        let reload = try daemon.control("reload")
        #expect(reload.status == 1 && reload.errors.contains("50-printer.yaml:1:9: "))
        #expect(try daemon.dig("printer.lan", "A").text.contains("192.0.2.9"))
        try daemon.stop()
    }

    @Test("--print-schema prints the content of config/httpdnsd.schema.json")
    func schema() throws {
        let end = try run(Product.daemon, ["--print-schema"])
        #expect(end.status == 0)
        #expect(try end.output == repository("config/httpdnsd.schema.json"))
        _ = try JSON(end.output)
    }

    @Test("each example in config/ is valid")
    func examples() throws {
        let folder = repositoryPath("config/examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(
            names == [
                "container-host.yaml", "json-api.yaml", "lan-gateway.yaml", "one-vendor.yaml",
                "two-vendors.yaml",
            ]
        )
        let scratch = try Scratch()
        for (name, secret) in [
            ("tencent.token", "987654321"), ("alibaba.secret", "00112233445566778899aabbccddeeff"),
            ("alibaba.aes", "ffeeddccbbaa99887766554433221100"),
        ] { try scratch.write(secret, to: name, mode: 0o600) }
        for name in names + ["minimal.yaml"] {
            let folder = name == "minimal.yaml" ? "config" : "config/examples"
            let text = try repository("\(folder)/\(name)")
            var whole = text.replacing(#/(?m)^( *)#([-a-z])/#) { "\($0.1)\($0.2)" }
            if let start = text.range(of: "#vendors:") {
                let rest = text[start.lowerBound...].replacing(#/(?m)^#/#, with: "")
                whole = String(text[..<start.lowerBound]) + rest
            }
            for text in Set([text, whole]) {
                let file = try scratch.write(text, to: name)
                let end = try Child(
                    Product.daemon,
                    ["--config", file, "--check"],
                    environment: ["CREDENTIALS_DIRECTORY": scratch.path]
                ).end()
                #expect(end.status == 0, "\(end.errors)\(text)")
                #expect(!end.errors.contains("no route names"), "\(end.errors)")
            }
        }
    }
}

func repositoryPath(_ path: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../\(path)").standardized.path
}

func repository(_ path: String) throws -> String {
    try String(contentsOfFile: repositoryPath(path), encoding: .utf8)
}
