// SPDX-License-Identifier: Apache-2.0

/// Facts that identify the manager of `/etc/resolv.conf`.
struct ResolverFacts: Sendable {
    var resolvConf = FileState.absent

    /// Path of the file with links resolved.
    var resolvedPath = Paths.resolvConf

    /// Content of the file; nil if a link is dangling or the file does not exist.
    var text: String?

    /// True if the file is immutable, even for root (`chattr +i`).
    var isImmutable = false

    /// True if the file is a mount point, as in containers, so that it cannot be replaced.
    var isMounted = false

    /// Existing paths among `Paths.indicators`.
    var present: Set<String> = []

    /// Names of the running programs, at most 15 octets each; nil if unknown, as in a machine
    /// image.
    var running: Set<String>?

    /// State of each file that a plan may change, by path.
    var files: [String: FileState] = [:]

    /// Files that a setup wrote and whose original contents no setup journal contains.
    ///
    /// `files` has defaults for them.
    var lost: [String] = []

    /// Content of all settings files of systemd-resolved.
    var resolvedSettings = ""

    /// Relevant paths.
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

        /// Paths whose existence identifies a manager.
        static let indicators = [
            resolved, systemd, networkManager, openresolvConfig, openresolvHelper,
            resolvconf, resolvconfUpdate, dhclientHooks, dhcpcdConfig, networkManagerStart,
            resolvedStart,
        ]

        /// Paths that a plan may write.
        static let written = [
            resolvConf, resolvedDropIn, networkManagerConfig, openresolvConfig, resolvconfHead,
            resolvconfDropIn, dhcpcdConfig, dhclientHook,
        ]
    }
}

extension ResolverFacts {
    /// Gathers the facts; files that a setup changed are seen as before the setup, or as they are
    /// with `seesSetup`.
    init(
        of tree: FileTree,
        before journal: SetupJournal?,
        seesSetup: Bool = false
    ) throws(Failure) {
        present = Set(Paths.indicators.filter(tree.exists))
        let programs = tree.names(in: "/proc").filter { Int($0) != nil }
            .compactMap { tree.text("/proc/\($0)/comm") }.map { String($0.prefix { $0 != "\n" }) }
        running = programs.isEmpty ? nil : Set(programs)
        for path in Paths.written {
            if let entry = journal?[path] {
                files[path] = entry.before
                continue
            }
            let now = try tree.state(path)
            let isLost = now.isFromSetup && !seesSetup
            if isLost { lost.append(path) }
            files[path] = isLost ? defaultOriginal(of: path, now: now, in: tree) : now
        }
        resolvConf = files[Paths.resolvConf] ?? .absent
        switch resolvConf.kind {
        case .link:
            // Target of the link, in its state before the setup.
            let target =
                resolvConf.target.hasPrefix("/") ? resolvConf.target : "/etc/" + resolvConf.target
            resolvedPath = try tree.resolve(target, followsLast: true)
            text = tree.text(target)
        case .file: text = resolvConf.text
        case .absent, .other: break
        }
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

    /// Returns true if a program is running, or if the running programs are unknown.
    func runs(_ program: String) -> Bool { running?.contains(program) ?? true }

    static func mounts(_ text: String) -> Set<String> {
        Set(
            text.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 4 ? String(words[4]) : nil
            }
        )
    }
}
