// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import Control
internal import Locks
internal import Net
internal import Resolver

struct PreparedReload: Sendable {
    let settled: SettledRoutes
    let outcome: ReloadReply

    /// Maximum changes in a reply; a longer reply would block the service loop.
    private static let listedChanges = 1_000

    /// Compares the settings on a thread, because they may have 100,000 routes.
    @ServiceLoop
    static func make(
        _ wanted: Settings,
        after running: Settings
    ) async throws(StartError) -> PreparedReload {
        try await onThread("reload") { PreparedReload(wanted, after: running) }
    }

    private init(_ wanted: Settings, after running: Settings) {
        let changes = running.changes(to: wanted, listing: Self.listedChanges)
        let (settings, needsRestart) = wanted.takingEffect(after: running)
        settled = SettledRoutes(settings)
        var outcome = ReloadReply(
            applied: false,
            warnings: wanted.warnings,
            changes: changes.listed,
            needsRestart: needsRestart,
            notes: wanted.usesCredentials ? Self.credentialNotes(changes.listed) : nil
        )
        outcome.unlistedChanges = changes.further
        self.outcome = outcome
    }

    /// Returns a note that systemd copies credentials only when the service starts.
    ///
    /// Returns nil if the reload changes a secret.
    static func credentialNotes(_ changes: [SettingChange]) -> [String]? {
        guard !changes.contains(where: { $0.kind == .secret }) else { return nil }
        return [
            "credentials were not reloaded: systemd copies them when the service starts; "
                + "if you changed a credential, run `systemctl restart httpdnsd`"
        ]
    }
}

/// Replaced or discarded routes, which a thread releases.
final class OldRoutes: Sendable {
    static let many = 1_000
    private let content: Lock<([RouteSettings], RouteTable, RouteNames, [String: String])?>

    /// Takes the routes of `components` and `renamed`; nil if there are few routes.
    @ServiceLoop
    init?(_ components: Components, _ renamed: [String: String] = [:]) {
        let routes = components.settings.routes
        let patterns = routes.reduce(0) { $0 + max(1, $1.domains.count + $1.except.count) }
        guard patterns >= Self.many else { return nil }
        content = Lock((routes, components.resolver.routes, components.routeNames, renamed))
    }

    fileprivate func release() {
        let content = content.withLock { content in
            defer { content = nil }
            return content
        }
        withExtendedLifetime(content) {}
    }
}

extension Daemon {
    /// Maps the old place (`file:line`) of each moved route to the new place.
    func renamedRoutes(_ new: Components) async throws(StartError) -> [String: String] {
        let (before, now) = (components.routeNames, new.routeNames)
        return try await onThread("reload") { before.changes(to: now) }
    }

    /// Releases routes when no query uses them; the next reload waits for the release.
    func releaseLater(_ old: OldRoutes?) {
        guard let old else { return }
        settingsQueue.add { [self] in
            try? await components.clocks.sleep(
                components.clocks.now() + ResolverLimits.total + .seconds(1)
            )
            await release(old)
        }
    }

    func release(_ old: OldRoutes?) async {
        guard let old else { return }
        try? await WorkerThread.run(named: "release") {
            old.release()
            OwnProcess.returnFreeMemory()
        }
    }
}
