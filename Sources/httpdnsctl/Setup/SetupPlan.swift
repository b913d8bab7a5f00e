// SPDX-License-Identifier: Apache-2.0

/// What is to be done to point a machine at the daemon.
struct SetupPlan: Equatable, Sendable {
    /// Who writes `/etc/resolv.conf`.
    var owner: ResolverOwner

    /// The servers that programs, or the owner, will ask.
    var servers: [ServerAddress]

    /// The files that are written, in order.
    var changes: [Change] = []

    /// The commands that make services see the files.
    var commands: [[String]] = []

    /// The commands that do so after a revert; nil if they are the same.
    var undo: [[String]]?

    /// What the user should know.
    var notes: [String] = []

    /// Why it cannot, or should not, be done.
    var obstacles: [Obstacle] = []

    /// A file that is written.
    struct Change: Equatable, Sendable {
        var path: String
        /// What was there.
        var before: FileState
        /// What will be there.
        var after: FileState
    }

    /// Something in the way.
    struct Obstacle: Equatable, Sendable, Encodable {
        /// What it is.
        var what: String
        /// What to do about it.
        var fix: String
        /// Whether `--force` goes past it.
        var yieldsToForce = true

        /// The names in JSON.
        private enum CodingKeys: String, CodingKey {
            case what, fix
            case yieldsToForce = "yields-to-force"
        }
    }
}

// MARK: - Making

extension SetupPlan {
    /// The paths of the trade.
    private typealias Paths = ResolverFacts.Paths

    /// Makes the plan for a machine.
    ///
    /// - Parameter keepsStub: whether systemd-resolved stays between programs and the daemon.
    init(for facts: ResolverFacts, servers: [ServerAddress], keepsStub: Bool = true) {
        self.init(owner: ResolverOwner(facts), servers: servers)
        switch owner {
        case .resolved: planResolved(facts, keepsStub: keepsStub)
        case .networkManager:
            change(
                Paths.networkManagerConfig,
                to: .file(
                    """
                    # Written by httpdnsctl setup: /etc/resolv.conf is not NetworkManager's.
                    [main]
                    dns=none

                    """
                ),
                facts
            )
            planFile(facts)
            if facts.present.contains(Paths.systemd) {
                commands = [["systemctl", "try-reload-or-restart", "NetworkManager.service"]]
            }
        case .openresolv: planOpenresolv(facts)
        case .resolvconf: planResolvconf(facts)
        case .dhclient:
            if facts.present.contains(Paths.dhclientHooks) {
                change(
                    Paths.dhclientHook,
                    to: .file(
                        """
                        # Written by httpdnsctl setup: a lease does not change /etc/resolv.conf.
                        make_resolv_conf() { :; }

                        """
                    ),
                    facts
                )
            } else {
                notes.append(
                    "dhclient will overwrite /etc/resolv.conf: "
                        + "add 'supersede domain-name-servers 127.0.0.1;' to dhclient.conf"
                )
            }
            planFile(facts)
        case .dhcpcd:
            let old = facts.files[Paths.dhcpcdConfig] ?? .absent
            change(
                Paths.dhcpcdConfig,
                to: Self.appending(
                    "# Written by httpdnsctl setup: a lease does not change /etc/resolv.conf.\n"
                        + "nohook resolv.conf\n",
                    to: old
                ),
                facts
            )
            planFile(facts)
        case .plain: planFile(facts)
        case .foreign(let name, let advice):
            obstacles.append(
                Obstacle(what: "\(name) writes /etc/resolv.conf, and would again", fix: advice)
            )
            planFile(facts)
        }
        checkFiles(facts)
    }

    // MARK: - Checking

    /// Notices files that will not be replaced.
    private mutating func checkFiles(_ facts: ResolverFacts) {
        for change in changes where change.before.kind == .other {
            obstacles.append(
                Obstacle(
                    what: "\(change.path) is neither a file nor a link",
                    fix: "move it away",
                    yieldsToForce: false
                )
            )
        }
        guard changes.contains(where: { $0.path == Paths.resolvConf }) else { return }
        if facts.isImmutable {
            obstacles.append(
                Obstacle(
                    what: "/etc/resolv.conf is immutable: somebody has locked it",
                    fix: "chattr -i /etc/resolv.conf",
                    yieldsToForce: false
                )
            )
        }
        if facts.isMounted {
            obstacles.append(
                Obstacle(
                    what: "/etc/resolv.conf is mounted, as in a container, so cannot be replaced",
                    fix: "set the container's DNS where it is made, such as docker run --dns",
                    yieldsToForce: false
                )
            )
        }
    }

    /// Notices a port that resolv.conf(5) cannot express.
    mutating func checkPort() {
        guard let server = servers.first(where: { $0.port != 53 }) else { return }
        obstacles.append(
            Obstacle(
                what: "the daemon is at \(server), and resolv.conf knows no port but 53",
                fix: "let it listen on 127.0.0.1:53 (listen in httpdnsd.yaml)",
                yieldsToForce: false
            )
        )
    }
}
