// SPDX-License-Identifier: Apache-2.0
internal import Net

extension ServiceUnits {
    /// Restrictions of the service; see systemd.exec(5).
    struct Sandbox {
        private var ambient: Set<Substring> = []

        /// Bounding set; nil for all capabilities.
        private var bounding: Set<Substring>?

        private var user = "root"

        private var hasPrivateUsers = false
        private var hasDynamicUser = false
        private var hasPrivateTemporary = false
        private var hidesHomes = false

        private var groups: Set<Substring> = []
        private var protectsSystem = false

        private var writable: [String: [String]] = [:]

        /// Parent directories of the directories that systemd creates, by setting.
        ///
        /// ConfigurationDirectory= is omitted, because the service cannot write there.
        private static let parents = [
            "RuntimeDirectory": "/run", "StateDirectory": "/var/lib",
            "CacheDirectory": "/var/cache", "LogsDirectory": "/var/log",
        ]

        init(_ lines: [(key: String, value: String)]) {
            for (key, value) in lines {
                let words = value.split(separator: " ")
                let isOn = !["", "0", "no", "n", "false", "f", "off"].contains(value.lowercased())
                switch key {
                case "User": user = value
                case "AmbientCapabilities": ambient = words.isEmpty ? [] : ambient.union(words)
                case "CapabilityBoundingSet":
                    bounding = words.isEmpty ? [] : (bounding ?? []).union(words)
                case "PrivateUsers": hasPrivateUsers = isOn
                case "DynamicUser": hasDynamicUser = isOn
                case "PrivateTmp": hasPrivateTemporary = isOn
                case "ProtectHome": hidesHomes = isOn && value != "read-only"
                case "Group", "SupplementaryGroups":
                    groups = words.isEmpty ? [] : groups.union(words)
                case "ProtectSystem": protectsSystem = value == "strict"
                default: note(words, of: key)
                }
            }
        }

        private mutating func note(_ words: [Substring], of key: String) {
            let isPath = ["ReadWritePaths", "BindPaths"].contains(key)
            guard isPath || Self.parents[key] != nil else { return }
            guard !words.isEmpty else {
                writable[key] = nil
                return
            }
            for word in words {
                // `-` and `+` are flags, and a part after `:` is an option. Exception: the second
                // part of BindPaths= is the path inside the service.
                let parts = word.drop { $0 == "-" || $0 == "+" }.split(separator: ":")
                guard let first = parts.first else { continue }
                let path = key == "BindPaths" && parts.count > 1 ? parts[1] : first
                let parent = Self.parents[key].map { "\($0)/" } ?? ""
                writable[key, default: []].append(Self.plain(parent + path))
            }
        }

        private var hasUnknownPath: Bool {
            writable.values.joined().contains { $0.contains("%") || $0.contains("\"") }
        }

        /// Capabilities inside a user namespace (PrivateUsers=) do not count.
        func has(_ capabilities: Set<Substring>) -> Bool {
            // `~` inverts a set. The check assumes that an inverted set lacks the capabilities.
            let isInSet = bounding.map { set in
                set.isSuperset(of: capabilities) && !set.contains { $0.hasPrefix("~") }
            }
            let isRoot = !hasDynamicUser && ["root", "0", ""].contains(user)
            return !hasPrivateUsers && (isRoot || ambient.isSuperset(of: capabilities))
                && isInSet ?? true
        }

        func serviceUser(_ find: (String) -> ServiceUser?) -> ServiceUser {
            var found =
                find(user) ?? ServiceUser(user: user == "root" ? 0 : UInt32(user), groups: [])
            found.groups.formUnion(groups.compactMap { GroupFile.number(of: String($0)) })
            return found
        }

        /// Returns nil if the service sees the file.
        func obstacle(toReading path: String) -> String? {
            if hasPrivateTemporary || hasDynamicUser,
                let directory = ["/tmp", "/var/tmp"].first(where: { Self.contains($0, path) })
            {
                return "the service has its own \(directory) (PrivateTmp=)"
            }
            let homes = ["/home", "/root", "/run/user"]
            guard hidesHomes, let home = homes.first(where: { Self.contains($0, path) }) else {
                return nil
            }
            return "\(home) is empty for the service (ProtectHome=)"
        }

        /// Returns nil if the service can write the file, and other processes see the file.
        func obstacle(toWriting path: String) -> String? {
            let path = Self.plain(path)
            // DynamicUser= implies both restrictions.
            if hasPrivateTemporary || hasDynamicUser,
                let directory = ["/tmp", "/var/tmp"].first(where: { Self.contains($0, path) })
            {
                return
                    "the service has a private \(directory) (PrivateTmp=), which systemd removes "
                    + "when the service stops"
            }
            guard protectsSystem || hasDynamicUser, !hasUnknownPath else { return nil }
            let paths = writable.values.joined().sorted()
            guard !paths.contains(where: { Self.contains($0, path) }) else { return nil }
            return
                (paths.isEmpty
                ? "the service may not write to any directory"
                : "the service may write only to \(paths.joined(separator: " and "))")
                + " (ProtectSystem=strict)"
        }

        private static func plain(_ path: String) -> String {
            path.hasPrefix("/var/run/") ? String(path.dropFirst("/var".count)) : path
        }

        private static func contains(_ directory: String, _ path: String) -> Bool {
            path == directory
                || path.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/")
        }
    }
}
