// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Programs that tests need, with their Debian packages.
enum Tool: String, CaseIterable {
    case busybox = "busybox-static"
    case chromium
    case curl
    case dbus = "dbus-daemon"
    case dbusmock = "python3-dbusmock"
    case dnsdist
    case dig = "bind9-dnsutils"
    case dnspython = "python3-dnspython"
    case go = "golang-go"
    case hickory = "librust-trust-dns-resolver-dev"
    case ip = "iproute2"
    case java = "bsh"
    case kdig = "knot-dnsutils"
    case mono = "mono-mcs"
    case musl = "musl-tools"
    case nginx
    case node = "nodejs"
    case nsd
    case openssl
    case prometheus = "python3-prometheus-client"
    case python3
    case redis = "redis-server"
    case systemd
    case tinyproxy
    case unbound
    case unshare = "util-linux"

    private var program: String {
        switch self {
        case .dnspython: "/usr/lib/python3/dist-packages/dns/resolver.py"
        case .prometheus: "/usr/lib/python3/dist-packages/prometheus_client/parser.py"
        case .dbus: "dbus-daemon"
        case .dbusmock: "/usr/lib/python3/dist-packages/dbusmock/__init__.py"
        case .java: "bsh"
        case .hickory: "/usr/share/cargo/registry/trust-dns-resolver-0.22.0/Cargo.toml"
        case .mono: "mcs"
        case .musl: "musl-gcc"
        case .redis: "redis-server"
        case .systemd: "systemd-socket-activate"
        default: "\(self)"
        }
    }

    static func path(_ program: String, in path: String) -> String? {
        path.split(separator: ":").map { "\($0)/\(program)" }
            .first { access($0, X_OK) == 0 }
    }

    private var isThere: Bool {
        program.hasPrefix("/")
            ? access(program, R_OK) == 0
            : Self.path(program, in: "/usr/sbin:/usr/bin:/sbin:/bin") != nil
    }

    private static let isComplete = ProcessInfo.processInfo.environment["CI"] == "true"

    static func complaint(_ tools: [Tool]) -> String? {
        let missing = tools.filter { !$0.isThere }
        guard missing.isEmpty else {
            return "apt-get install " + missing.map(\.rawValue).joined(separator: " ")
        }
        if tools.contains(.unshare), !Namespace.isPossible {
            return "private namespaces need root, and a container that allows them"
        }
        return nil
    }

    /// Large programs, which only `scripts/setup --clients` installs.
    private static let optional: Set<Tool> = [.chromium, .hickory, .mono]

    static func allow(_ tools: [Tool]) -> Bool {
        isComplete && optional.isDisjoint(with: tools) || complaint(tools) == nil
    }

    static func hint(_ program: String) -> String {
        allCases.first { $0.program == program }.map { "; apt-get install \($0.rawValue)" } ?? ""
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests if a tool is missing.
    ///
    /// With CI=true, the tests fail instead, except if the missing tool is optional.
    static func needs(_ tools: Tool...) -> Self {
        .enabled(if: Tool.allow(tools), "\(Tool.complaint(tools) ?? "")")
    }
}

extension Trait where Self == TimeLimitTrait {
    static var hangLimit: Self { .timeLimit(.minutes(15)) }
}
