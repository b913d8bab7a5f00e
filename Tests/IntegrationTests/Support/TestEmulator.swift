// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

final class TestEmulator: Sendable {
    let program: Child
    let address: String
    private let scratch: Scratch
    private let namespace: Namespace?

    init(
        zone: String,
        faults: [String] = [],
        options: [String] = [],
        listen: String = "127.0.0.1:0",
        in namespace: Namespace? = nil
    ) throws {
        self.namespace = namespace
        scratch = try Scratch()
        let file = try scratch.write(zone, to: "names.zone")
        program = try Child(
            Product.emulator,
            ["--listen", listen, "--zone", file] + options + faults.flatMap { ["--fault", $0] },
            in: namespace
        )
        let line = try program.line(with: "listening on ")
        address = String(line.dropFirst("listening on ".count))
    }

    func misbehave(_ faults: String...) throws {
        _ = try admin(
            "faults",
            "--header",
            "Content-Type: text/plain",
            "--data-binary",
            faults.joined(separator: "\n")
        )
    }

    func lookups() throws -> Int {
        let calls = try calls()
        let trials = ["www.dnspod.cn", "resolvers.httpdns.aliyuncs.com", "tencent.test"]
            .compactMap { calls["names", $0].int }
        return try #require(calls["lookups"].int) - trials.reduce(0, +)
    }

    func calls() throws -> JSON { try JSON(try admin("calls")) }

    func admin(_ path: String, _ options: String...) throws -> String {
        let (program, arguments) = (
            "curl",
            [
                "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "10",
            ] + options + ["http://\(address)/_emulator/\(path)"]
        )
        let end = try Child(program, arguments, in: namespace).end()
        try #require(end.status == 0, "\(end.errors)")
        return end.output
    }
}
