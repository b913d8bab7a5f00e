// SPDX-License-Identifier: Apache-2.0

/// Proxy that an environment variable or the desktop settings define.
struct ProxySetting: Equatable, Sendable {
    var place: String

    var name: String

    /// URL of the proxy without user name and password; for desktop settings, the proxy mode.
    var value: String

    static let variables: Set = ["http_proxy", "https_proxy", "all_proxy"]

    /// Parses assignments of environment variables, in the syntax of shells or of systemd.
    static func assignments(in text: String, _ place: String) -> [ProxySetting] {
        text.split(whereSeparator: \.isNewline).flatMap { line -> [ProxySetting] in
            let words = line.split { " \t;\"'".contains($0) }.map(String.init)
            guard line.first(where: { $0 != " " && $0 != "\t" }) != "#" else { return [] }
            return words.enumerated().compactMap { index, word in
                guard let equals = word.firstRange(of: "=") else { return nil }
                let whole = String(word[..<equals.lowerBound])
                // In systemd settings, the assignment is a value:
                // `DefaultEnvironment=http_proxy=URL`.
                let rest = String(word[equals.upperBound...])
                if !variables.contains(whole.lowercased()), rest.contains("=") {
                    return assignments(in: rest, place).first
                }
                guard variables.contains(whole.lowercased()) else { return nil }
                let value = rest.isEmpty && index + 1 < words.count ? words[index + 1] : rest
                return value.isEmpty
                    ? nil : ProxySetting(place: place, name: whole, value: withoutUser(value))
            }
        }
    }

    /// Parses settings of GNOME (a dconf key file) or KDE (kioslaverc).
    static func desktop(in text: String, _ place: String) -> [ProxySetting] {
        var section = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: "=", maxSplits: 1).map { part in
                String(part.filter { $0 != " " && $0 != "'" })
            }
            if line.hasPrefix("[") { section = String(line) }
            guard words.count == 2 else { continue }
            switch (section, words[0], words[1]) {
            case ("[system/proxy]", "mode", "manual"), ("[system/proxy]", "mode", "auto"):
                return [ProxySetting(place: place, name: "mode", value: words[1])]
            case ("[Proxy Settings]", "ProxyType", let type) where ["1", "2", "3"].contains(type):
                return [ProxySetting(place: place, name: "ProxyType", value: type)]
            default: break
            }
        }
        return []
    }

    private static func withoutUser(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let scheme = url.firstRange(of: "://").map { String(url[..<$0.upperBound]) } ?? ""
        return scheme + url[url.index(after: at)...]
    }
}

extension Check {
    /// Check for proxies: a program that uses a proxy does not query the daemon.
    static let proxy = Check("proxy") { machine in
        machine.proxies.map { proxy in
            .warning(
                "\(proxy.place): \(proxy.name)=\(proxy.value): programs that use this proxy do not "
                    + "resolve names themselves, so they get none of the daemon's answers",
                fix: "remove the proxy, or exclude the domains of your routes from the proxy: in "
                    + "no_proxy, or in the ignored hosts of the desktop's settings"
            )
        }
    }
}

extension Gatherer {
    private static let environmentFiles = [
        "/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/systemd/system.conf",
        "/etc/systemd/user.conf",
    ]

    private static let environmentDirectories = [
        "/etc/environment.d", "/etc/profile.d", "/etc/systemd/system.conf.d",
        "/etc/systemd/user.conf.d",
    ]

    private static let desktopDirectories = ["/etc/dconf/db/local.d", "/etc/dconf/db/site.d"]
    private static let maximumProxies = 20

    func proxies(_ variables: [String: String]) -> [ProxySetting] {
        let shell = variables.sorted { $0.key < $1.key }.flatMap { name, value in
            ProxySetting.assignments(in: "\(name)=\(value)", "this shell")
        }
        func files(in directories: [String]) -> [String] {
            directories.flatMap { directory in
                tree.names(in: directory).sorted().map { directory + "/" + $0 }
            }
        }
        let environment = (Self.environmentFiles + files(in: Self.environmentDirectories))
            .flatMap { ProxySetting.assignments(in: tree.text($0) ?? "", $0) }
        let homes = tree.names(in: "/home").sorted().map { "/home/\($0)/.config/kioslaverc" }
        let desktop = (files(in: Self.desktopDirectories) + ["/etc/xdg/kioslaverc"] + homes)
            .flatMap { ProxySetting.desktop(in: tree.text($0) ?? "", $0) }
        return Array((shell + environment + desktop).prefix(Self.maximumProxies))
    }
}
