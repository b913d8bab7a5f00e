// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A private network, where every port is free, and a private view of the files in `/etc`.
///
/// It lives as long as its first process, and every program that runs in it must end before.
final class Namespace: Sendable {
    /// Whether this process may make namespaces.
    static let isPossible =
        getuid() == 0 && (try? Child("unshare", ["--mount", "--net", "true"]).end())?.status == 0

    private let keeper: Child
    private let scratch: Scratch

    /// The name of what programs in here see as `/etc/resolv.conf`.
    private static let resolver = "resolv.conf"

    /// Makes a network with loopback and `addresses`, whose only resolver is `nameserver`.
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

    /// The command that runs a command in here, as the same process.
    func command(_ program: String, _ arguments: [String]) -> (String, [String]) {
        let files = ["net", "mnt"].map {
            "--\($0 == "mnt" ? "mount" : $0)=/proc/\(keeper.pid)/ns/\($0)"
        }
        return ("nsenter", files + ["--", program] + arguments)
    }

    /// Replaces the text of `/etc/resolv.conf`.
    func setResolver(_ text: String) throws {
        // In place, as it is the file and not its name that programs see.
        try scratch.write(text, to: Self.resolver)
    }

    /// Puts a cable, by that name at both ends, between this network and another one.
    ///
    /// - Parameters:
    ///   - address: of this end, with its prefix length.
    ///   - far: of the other end.
    func connect(to other: Namespace, _ address: String, _ far: String) throws {
        let commands = [
            (self, "link add cable type veth peer name cable netns \(other.keeper.pid)"),
            (other, "address add \(far) dev cable"), (other, "link set cable up"),
            (self, "address add \(address) dev cable"), (self, "link set cable up"),
        ]
        for (namespace, command) in commands {
            let end = try namespace.run("ip", command.split(separator: " ").map(String.init))
            guard end.status == 0 else { throw Child.Failure(description: end.errors) }
        }
    }

    /// Runs a program in here to its end.
    func run(_ program: String, _ arguments: [String]) throws -> Child.End {
        let (program, arguments) = command(program, arguments)
        return try Child(program, arguments).end()
    }
}

extension Child {
    /// Starts `program` in a namespace, or outside if there is none.
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
