// SPDX-License-Identifier: Apache-2.0

/// What a machine shows of who writes its `/etc/resolv.conf`.
struct ResolverFacts: Sendable {
    /// What stands at `/etc/resolv.conf`.
    var resolvConf = FileState.absent

    /// The path it leads to, links followed.
    var resolvedPath = Paths.resolvConf

    /// What it says; nil if it leads to nothing.
    var text: String?

    /// Whether it cannot be changed, even by root (`chattr +i`).
    var isImmutable = false

    /// Whether it is mounted, as containers have it: then it cannot be replaced.
    var isMounted = false

    /// Which of the paths below are there.
    var present: Set<String> = []

    /// The names of the programs that run, at most 15 octets each; nil if they cannot be seen, as in
    /// the files of another machine.
    var running: Set<String>?

    /// What the files say that a plan changes, by path.
    var files: [String: FileState] = [:]

    /// All of systemd-resolved's settings, one after the other.
    var resolvedSettings = ""

    /// The paths that matter.
    enum Paths {
        static let resolvConf = "/etc/resolv.conf"
        static let resolved = "/run/systemd/resolve"
        static let resolvedDropIn = "/etc/systemd/resolved.conf.d/httpdnsd.conf"
        static let systemd = "/run/systemd/system"
        static let networkManager = "/run/NetworkManager"
        static let networkManagerConfig = "/etc/NetworkManager/conf.d/90-httpdnsd.conf"
        static let openresolvConfig = "/etc/resolvconf.conf"
        static let openresolvHelper = "/lib/resolvconf/libc"
        static let resolvconf = "/sbin/resolvconf"
        static let resolvconfUpdate = "/etc/resolvconf/update.d/libc"
        static let resolvconfHead = "/etc/resolvconf/resolv.conf.d/head"
        static let resolvconfDropIn = "/etc/systemd/system/httpdnsd.service.d/resolvconf.conf"
        static let networkManagerStart =
            "/etc/systemd/system/multi-user.target.wants/NetworkManager.service"
        static let resolvedStart = "/etc/systemd/system/dbus-org.freedesktop.resolve1.service"
        static let dhcpcdConfig = "/etc/dhcpcd.conf"
        static let dhclientHooks = "/etc/dhcp/dhclient-enter-hooks.d"
        static let dhclientHook = dhclientHooks + "/zz-httpdnsd"

        /// Those whose presence tells something.
        static let telling = [
            resolved, systemd, networkManager, openresolvConfig, openresolvHelper,
            resolvconf, resolvconfUpdate, dhclientHooks, dhcpcdConfig, networkManagerStart,
            resolvedStart,
        ]

        /// Those that some plan writes.
        static let written = [
            resolvConf, resolvedDropIn, networkManagerConfig, openresolvConfig, resolvconfHead,
            resolvconfDropIn, dhcpcdConfig, dhclientHook,
        ]
    }
}

extension ResolverFacts {
    /// Gathers the facts; what a setup has changed is seen as it was before.
    init(of tree: FileTree, before journal: SetupJournal?) throws(Failure) {
        for path in Paths.written {
            let entry = journal?.entries.first { $0.path == path }
            if let entry { files[path] = entry.before } else { files[path] = try tree.state(path) }
        }
        resolvConf = files[Paths.resolvConf] ?? .absent
        switch resolvConf.kind {
        case .link:
            // Where the link leads that is there, or was.
            let target =
                resolvConf.target.hasPrefix("/") ? resolvConf.target : "/etc/" + resolvConf.target
            resolvedPath = try tree.resolve(target, followsLast: true)
            text = tree.text(target)
        case .file: text = resolvConf.text
        case .absent, .other: break
        }
        present = Set(Paths.telling.filter(tree.exists))
        let programs = tree.names(in: "/proc").filter { Int($0) != nil }
            .compactMap { tree.text("/proc/\($0)/comm") }.map { String($0.prefix { $0 != "\n" }) }
        running = programs.isEmpty ? nil : Set(programs)
        isImmutable =
            try tree.state(Paths.resolvConf).kind == .file && tree.isImmutable(Paths.resolvConf)
        isMounted = Self.mounts(tree.text("/proc/self/mountinfo") ?? "").contains(Paths.resolvConf)
        for directory in ["/etc", "/run", "/usr/lib"].map({ $0 + "/systemd/resolved.conf.d" }) {
            for name in tree.names(in: directory) where name.hasSuffix(".conf") {
                guard directory + "/" + name != Paths.resolvedDropIn else { continue }
                resolvedSettings += (tree.text(directory + "/" + name) ?? "") + "\n"
            }
        }
        resolvedSettings += tree.text("/etc/systemd/resolved.conf") ?? ""
    }

    /// Whether a program runs; true if that cannot be seen.
    func runs(_ program: String) -> Bool { running?.contains(program) ?? true }

    /// The places where something is mounted, of `/proc/self/mountinfo`.
    static func mounts(_ text: String) -> Set<String> {
        Set(
            text.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 4 ? String(words[4]) : nil
            }
        )
    }
}
