// SPDX-License-Identifier: Apache-2.0

/// Facts that identify the program that manages `/etc/resolv.conf`.
struct ResolverFacts: Sendable {
    var resolvConf = FileState.absent

    var resolvedPath = Paths.resolvConf

    var text: String?
    var isImmutable = false

    /// True if resolv.conf is a mount point, which cannot be replaced.
    var isMounted = false

    var present: Set<String> = []

    /// Names of running programs, truncated to 15 octets; nil if unknown.
    var running: Set<String>?

    var files: [String: FileState] = [:]

    /// Files that `setup apply` changed, but for which the setup journal has no original content.
    var lost: [String] = []

    /// Settings of systemd-resolved; they include the drop-in of setup only if `seesSetup` is true.
    var resolvedSettings = ResolvedSettings()

    /// Links with the routing domain `~.`: systemd-resolved queries their servers for all names.
    var greedyLinks: [String] = []

    /// False if systemd-resolved runs, but did not report the domains of its links.
    var knowsLinks = true

    /// True if dhclient passes its servers to a hook of a package or of the administrator.
    var hasDhclientHook = false

    /// True if resolv.conf has nameservers that neither a program nor the network has set.
    var hasChosenServers = false

    /// Nameservers from a DHCP client, saved by an earlier setup for `from: network`.
    var savedServers: [String] = []

    /// True if programs query systemd-resolved through nss-resolve, which ignores resolv.conf.
    var hasNSSResolve = false

    enum Paths {
        static let resolvConf = "/etc/resolv.conf"
        static let resolved = "/run/systemd/resolve"
        // systemd reads drop-ins in the order of their names; the last drop-in overrides the
        // others.
        static let resolvedDropIn = "/etc/systemd/resolved.conf.d/zz-httpdnsd.conf"
        static let systemd = "/run/systemd/system"
        static let networkManager = "/run/NetworkManager"
        static let networkManagerConfig = "/etc/NetworkManager/conf.d/zz-httpdnsd.conf"
        static let formerResolvedDropIn = "/etc/systemd/resolved.conf.d/httpdnsd.conf"
        static let formerNetworkManagerConfig = "/etc/NetworkManager/conf.d/90-httpdnsd.conf"
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
        static let dhcpcdHook = "/etc/dhcpcd.enter-hook"
        static let dhcpcdServers = "/run/dhcpcd/hook-state/resolv.conf"
        static let dhclientHooks = "/etc/dhcp/dhclient-enter-hooks.d"
        static let dhclientHook = dhclientHooks + "/zz-httpdnsd"
        static let dhclientServers = "/run/httpdnsd-dhclient"
        static let networkServers = "/etc/httpdnsd/network-resolv.conf"
        static let records = [
            dhcpcdServers, "/run/resolvconf/interfaces", "/run/resolvconf/interface",
        ]

        static let indicators = [
            resolved, systemd, networkManager, openresolvConfig, openresolvHelper,
            resolvconf, resolvconfUpdate, dhclientHooks, dhcpcdConfig, networkManagerStart,
            resolvedStart,
        ]

        /// Files that only earlier versions of setup wrote or changed.
        static let former = [formerResolvedDropIn, formerNetworkManagerConfig, dhcpcdConfig]

        static let written = [
            resolvConf, resolvedDropIn, networkManagerConfig, openresolvConfig, resolvconfHead,
            resolvconfDropIn, dhcpcdConfig, dhclientHook, networkServers, dhcpcdHook,
            formerResolvedDropIn, formerNetworkManagerConfig,
        ]
    }
}

extension ResolverFacts {
    /// Collects the facts about this machine as it would be without the setup.
    ///
    /// - Parameter seesSetup: applies to a file that setup wrote, if its original content is lost.
    ///   True selects the present content, and false a default content.
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
            let isOwn = path == Paths.resolvConf ? now.hasServersOfSetup : now.isFromSetup
            let isLost = isOwn && !seesSetup
            if isLost { lost.append(path) }
            files[path] = isLost ? defaultOriginal(of: path, now: now, in: tree) : now
        }
        resolvConf = files[Paths.resolvConf] ?? .absent
        switch resolvConf.kind {
        case .link:
            // If setup replaced the link, `resolvConf` is the link from before the setup.
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
        resolvedSettings = ResolvedSettings(
            of: tree,
            without: seesSetup ? [] : [Paths.resolvedDropIn, Paths.formerResolvedDropIn]
        )
        hasDhclientHook = tree.names(in: Paths.dhclientHooks).contains { name in
            let path = Paths.dhclientHooks + "/" + name
            return path != Paths.dhclientHook
                && (tree.text(path) ?? "").contains("make_resolv_conf()")
        }
        if let saved = journal?[Paths.networkServers]?.after, saved.isFromSetup,
            ![SetupPlan.chosenMark, SetupPlan.resolvedMark].contains(where: saved.text.contains)
        {
            savedServers = ResolvConfText(saved.text).networkServers
        }
        hasChosenServers = isUnsigned && Self.hasOthers(ResolvConfText(text ?? ""), in: tree)
        hasNSSResolve =
            (tree.text("/etc/nsswitch.conf") ?? "").split(separator: "\n")
            .last { $0.hasPrefix("hosts:") }?.prefix { $0 != "#" }
            .split(whereSeparator: \.isWhitespace).contains("resolve") ?? false
        if tree.isThisMachine, present.contains(Paths.resolved), runs("systemd-resolve") {
            let outcome = Subprocess.run(["resolvectl", "domain"], within: .seconds(2))
            knowsLinks = outcome?.status == 0
            greedyLinks = Self.greedyLinks(outcome?.output ?? "")
        }
    }

    /// Finds links with the domain `~.` in the output of `resolvectl domain`.
    ///
    /// resolvectl wraps long lists: continuation lines begin with blanks.
    static func greedyLinks(_ output: String) -> [String] {
        output.replacing("\n ", with: " ").split(separator: "\n").compactMap { line in
            guard line.hasPrefix("Link "), let name = line.firstIndex(of: "("),
                let end = line.firstRange(of: "): "),
                line[end.upperBound...].split(separator: " ").contains("~.")
            else { return nil }
            return String(line[line.index(after: name)..<end.lowerBound])
        }
    }

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
