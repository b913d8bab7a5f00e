// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Private network, and private mounts over files in `/etc`.
///
/// All programs must end before this object is released.
final class Namespace: Sendable {
    static let isPossible =
        getuid() == 0 && (try? Child("unshare", ["--mount", "--net", "true"]).end())?.status == 0

    private let keeper: Child
    private let scratch: Scratch

    private static let resolver = "resolv.conf"

    init(addresses: [String] = [], nameserver: String = "127.0.0.1") throws {
        if let complaint = Tool.complaint([.unshare, .ip]) {
            throw Child.Failure(description: complaint)
        }
        scratch = try Scratch()
        let resolvConf = try scratch.write(
            "nameserver \(nameserver)\noptions timeout:5 attempts:1\n",
            to: Self.resolver
        )
        let switching = try scratch.write("hosts: files dns\n", to: "nsswitch.conf")
        let script = """
            set -e
            ip link set lo up
            for address in \(addresses.joined(separator: " ")); do
                ip address add "$address" dev lo nodad
            done
            mount --bind \(resolvConf) "$(readlink -f /etc/resolv.conf)"
            mount --bind \(switching) /etc/nsswitch.conf
            echo ready
            exec sleep infinity
            """
        keeper = try Child("unshare", ["--mount", "--net", "sh", "-c", script])
        _ = try keeper.line(with: "ready")
    }

    func command(_ program: String, _ arguments: [String]) -> (String, [String]) {
        let files = ["net", "mnt"].map {
            "--\($0 == "mnt" ? "mount" : $0)=/proc/\(keeper.pid)/ns/\($0)"
        }
        return ("nsenter", files + ["--", program] + arguments)
    }

    func setResolver(_ text: String) throws {
        // Overwrites the mounted file: a new file with the same name would not be mounted.
        try scratch.write(text, to: Self.resolver)
    }

    func connect(
        to other: Namespace,
        _ address: String,
        _ far: String,
        name: String = "cable"
    ) throws {
        try ip("link add \(name) type veth peer name \(name) netns \(other.keeper.pid)")
        try other.ip("address add \(far) dev \(name)", "link set \(name) up")
        try ip("address add \(address) dev \(name)", "link set \(name) up")
    }

    func ip(_ commands: String...) throws {
        for command in commands {
            let end = try run("ip", command.split(separator: " ").map(String.init))
            guard end.status == 0 else { throw Child.Failure(description: end.errors) }
        }
    }

    func run(_ program: String, _ arguments: [String]) throws -> Child.End {
        let (program, arguments) = command(program, arguments)
        return try Child(program, arguments).end()
    }
}

extension Child {
    convenience init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        in namespace: Namespace?
    ) throws {
        let (program, arguments) = namespace?.command(program, arguments) ?? (program, arguments)
        try self.init(program, arguments, environment: environment)
    }
}
