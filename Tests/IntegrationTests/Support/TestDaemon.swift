// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

let unusedUpstream = "upstreams: [{name: unused, url: \"udp://127.0.0.1:9\"}]"

final class TestDaemon: Sendable {
    let port: UInt16

    let socket: String
    let program: Child
    private let scratch: Scratch
    private let namespace: Namespace?

    let file: String

    /// Starts a daemon, and waits until it answers.
    ///
    /// - Parameter settings: YAML without `listen` and `control`.
    init(
        _ settings: String,
        listen: String...,
        controlledAt socket: String? = nil,
        environment: [String: String] = [:],
        passing sockets: [Socket] = [],
        under command: [String] = [],
        in namespace: Namespace? = nil
    ) throws {
        scratch = try Scratch()
        self.namespace = namespace
        self.socket = socket ?? scratch.file("control.sock")
        let places = listen.isEmpty ? ["127.0.0.1:0"] : listen
        file = try scratch.write(Self.text(settings, places, self.socket), to: "httpdnsd.yaml")
        let line = command + [Product.daemon, "--config", file]
        program =
            sockets.isEmpty
            ? try Child(
                line[0],
                Array(line.dropFirst()),
                environment: ["STATE_DIRECTORY": scratch.path]
                    .merging(environment) { $1 },
                in: namespace
            )
            : try Child(Product.daemon, ["--config", file], passing: sockets)
        let words = try program.line(with: "answering on ").components(
            separatedBy: "answering on "
        )[1]
        let address = words.prefix { $0 != "," }
        port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) }, "\(words)")
    }

    func rewrite(_ settings: String, listen: String...) throws {
        let places = listen.isEmpty ? ["127.0.0.1:0"] : listen
        try scratch.write(Self.text(settings, places, socket), to: "httpdnsd.yaml")
    }

    private static func text(_ settings: String, _ places: [String], _ socket: String) -> String {
        """
        listen: [\(places.map { "\"\($0)\"" }.joined(separator: ", "))]
        control: {socket: \(socket), mode: "0600"}
        \(settings)
        """
    }

    func stop(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let end = try program.stop()
        #expect(end.status == 0, "\(end.errors)", sourceLocation: sourceLocation)
    }

    func control(_ arguments: String...) throws -> Child.End {
        try run(Product.control, ["--socket", socket] + arguments)
    }

    func stats() throws -> JSON {
        let end = try control("stats", "--json")
        try #require(end.status == 0, "\(end.errors)")
        return try JSON(end.output)
    }

    func cached(_ name: String, _ type: String...) throws -> [JSON] {
        let end = try run(Product.control, ["--socket", socket, "--json", "lookup", name] + type)
        return end.status == 0 ? try JSON(end.output)["entries"].array : []
    }

    func dig(_ arguments: String..., server: String = "127.0.0.1") throws -> Dig {
        try Dig(port: port, arguments, server: server, in: namespace)
    }
}

extension Child {
    /// Starts a program, and passes sockets as systemd does (sd_listen_fds(3)).
    convenience init(_ program: String, _ arguments: [String], passing sockets: [Socket]) throws {
        let copies = sockets.map { fcntl($0.descriptor, F_DUPFD_CLOEXEC, 100) }
        defer { for copy in copies { close(copy) } }
        // The shell sets LISTEN_PID to its own process ID, then executes the program.
        try self.init(
            "sh",
            ["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\"", program] + arguments,
            environment: [
                "LISTEN_FDS": "\(copies.count)",
                "LISTEN_FDNAMES": sockets.map { _ in "dns" }.joined(separator: ":"),
            ],
            descriptors: .init(
                uniqueKeysWithValues: copies.enumerated().map { (Int32(3 + $0), $1) }
            )
        )
    }
}

struct VendorText {
    enum Channel: String, CaseIterable, Sendable {
        case https, aes, des
    }

    let text: String

    init(
        _ channel: Channel,
        servers: [String],
        in scratch: Scratch,
        authority: String? = nil,
        extra: String = ""
    ) throws {
        let secret: String
        switch channel {
        case .https:
            let file = try scratch.write("987654321\n", to: "token", mode: 0o600)
            secret = "token: {file: \(file)}"
        case .aes:
            let file = try scratch.write("1234567890123456\n", to: "aes", mode: 0o600)
            secret = "key: {file: \(file)}"
        case .des:
            let file = try scratch.write("testkey1\n", to: "des", mode: 0o600)
            secret = "key: {file: \(file)}"
        }
        let list = servers.map { "\"\($0)\"" }.joined(separator: ", ")
        text = """
            vendors:
              tencent:
                kind: tencent
                channel: \(channel.rawValue)
                id: 12345
                \(secret)
                servers: [\(list)]
                \(authority.map { "ca-file: \($0)" } ?? "")
                \(extra.split(separator: "\n").joined(separator: "\n    "))
            """
    }
}
