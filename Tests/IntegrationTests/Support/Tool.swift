// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A program of the system that tests need, and the Debian package that has it.
enum Tool: String, CaseIterable {
    case curl
    case dnsdist
    case dig = "bind9-dnsutils"
    case dnspython = "python3-dnspython"
    case ip = "iproute2"
    case java = "bsh"
    case kdig = "knot-dnsutils"
    case nginx
    case node = "nodejs"
    case nsd
    case openssl
    case prometheus = "python3-prometheus-client"
    case python3
    case systemd
    case tinyproxy
    case unbound
    case unshare = "util-linux"

    /// The name of the program; of a library a file with its path.
    private var program: String {
        switch self {
        case .dnspython: "/usr/lib/python3/dist-packages/dns/resolver.py"
        case .prometheus: "/usr/lib/python3/dist-packages/prometheus_client/parser.py"
        // The interpreter of Java's source, which needs a Java to be installed.
        case .java: "bsh"
        case .systemd: "systemd-socket-activate"
        default: "\(self)"
        }
    }

    /// Where a program is, or nil if it is in none of the directories of `path`.
    static func path(_ program: String, in path: String) -> String? {
        path.split(separator: ":").map { "\($0)/\(program)" }
            .first { access($0, X_OK) == 0 }
    }

    /// Whether this machine has it.
    private var isThere: Bool {
        program.hasPrefix("/")
            ? access(program, R_OK) == 0
            : Self.path(program, in: "/usr/sbin:/usr/bin:/sbin:/bin") != nil
    }

    /// Where a run is expected to be complete, so that what is missing is a failure.
    private static let isComplete = ProcessInfo.processInfo.environment["CI"] == "true"

    /// What `tools` need and this machine has not, as a sentence; nil if nothing.
    static func complaint(_ tools: [Tool]) -> String? {
        let missing = tools.filter { !$0.isThere }
        guard missing.isEmpty else {
            return "apt-get install " + missing.map(\.rawValue).joined(separator: " ")
        }
        if tools.contains(.unshare), !Namespace.isPossible {
            return "private namespaces need root, and a container that lets it make them"
        }
        return nil
    }

    /// Whether tests that need `tools` are to run: if they can, or if they must.
    static func allow(_ tools: [Tool]) -> Bool { isComplete || complaint(tools) == nil }

    /// What to add to the complaint that `program` cannot be started.
    static func hint(_ program: String) -> String {
        allCases.first { $0.program == program }.map { "; apt-get install \($0.rawValue)" } ?? ""
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips what needs `tools` that are missing, except where CI=true: there it is a failure.
    static func needs(_ tools: Tool...) -> Self {
        .enabled(if: Tool.allow(tools), "\(Tool.complaint(tools) ?? "")")
    }
}

extension Trait where Self == TimeLimitTrait {
    /// Ends what hangs, and nothing else: a test's time begins when the runner starts it, which is
    /// long before a thread is free for it if many are started at once.
    ///
    /// What a test waits for has limits of its own: lines, ends of programs, replies.
    static var hangLimit: Self { .timeLimit(.minutes(15)) }
}
