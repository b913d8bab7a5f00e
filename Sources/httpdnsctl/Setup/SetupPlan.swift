// SPDX-License-Identifier: Apache-2.0

/// Changes that make the programs of a machine use the daemon.
struct SetupPlan: Equatable, Sendable {
    var owner: ResolverOwner
    var servers: [ServerAddress]
    var changes: [Change] = []
    var commands: [[String]] = []

    var undo: [[String]]?

    var notes: [String] = []
    var obstacles: [Obstacle] = []

    struct Change: Equatable, Sendable {
        var path: String
        var before: FileState
        var after: FileState
    }

    struct Obstacle: Equatable, Sendable, Encodable {
        var what: String
        var fix: String
        var yieldsToForce = true
    }
}

// MARK: - Making

extension SetupPlan {
    private typealias Paths = ResolverFacts.Paths

    /// Plans the changes for the manager of resolv.conf.
    init(for facts: ResolverFacts, servers: [ServerAddress], keepsStub: Bool = false) {
        self.init(owner: ResolverOwner(facts), servers: servers)
        switch owner {
        case .resolved: planResolved(facts, keepsStub: keepsStub)
        case .networkManager:
            planNetworkManager(facts)
            planFile(facts)
        case .openresolv: planOpenresolv(facts)
        case .resolvconf: planResolvconf(facts)
        case .dhclient, .dhcpcd, .plain: planFile(facts)
        case .foreign(let name, let advice):
            block("\(name) manages and overwrites /etc/resolv.conf", fix: advice)
            planFile(facts)
        }
        checkFiles(facts)
        if !facts.lost.isEmpty {
            notes.append(
                "the original contents of \(facts.lost.joined(separator: ", ")) are not in the "
                    + "setup journal: `httpdnsctl setup revert` will write defaults to these files"
            )
        }
    }

    // MARK: - Checking

    mutating func block(_ what: String, fix: String, yieldsToForce: Bool = true) {
        obstacles.append(Obstacle(what: what, fix: fix, yieldsToForce: yieldsToForce))
    }

    private mutating func checkFiles(_ facts: ResolverFacts) {
        for change in changes where change.before.kind == .other {
            block(
                "\(change.path) is neither a file nor a link",
                fix: "move it to another place",
                yieldsToForce: false
            )
        }
        guard changes.contains(where: { $0.path == Paths.resolvConf }) else { return }
        if facts.isImmutable {
            block(
                "/etc/resolv.conf is immutable",
                fix: "chattr -i /etc/resolv.conf",
                yieldsToForce: false
            )
        }
        if facts.isMounted {
            block(
                "/etc/resolv.conf is a mount point, as in a container",
                fix:
                    "set the DNS server when you create the container, for example docker run --dns",
                yieldsToForce: false
            )
        }
    }

    /// Adds an obstacle if a port is not 53, because resolv.conf(5) has no ports.
    mutating func checkPort() {
        guard let server = servers.first(where: { $0.port != 53 }) else { return }
        block(
            "the daemon listens on \(server), but resolv.conf supports only port 53",
            fix: "set listen to 127.0.0.1:53 in httpdnsd.yaml",
            yieldsToForce: false
        )
    }
}
