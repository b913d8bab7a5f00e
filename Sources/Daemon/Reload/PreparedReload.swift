// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import Locks
internal import Net
internal import Resolver

/// New settings and their differences from the current ones, computed on a thread before a reload.
struct PreparedReload: Sendable {
    /// Settings that take effect without a restart.
    let settled: SettledRoutes
    let outcome: ReloadOutcome

    /// Compares `wanted` with the `running` settings on a thread: there may be 100,000 routes.
    ///
    /// - Throws: `StartError.system` if the thread cannot be created.
    @ServiceLoop
    static func make(
        _ wanted: Settings,
        after running: Settings
    ) async throws(StartError) -> PreparedReload {
        do throws(SocketError) {
            return try await WorkerThread.run(named: "reload") {
                PreparedReload(wanted, after: running)
            }
        } catch {
            throw .system(error)
        }
    }

    private init(_ wanted: Settings, after running: Settings) {
        let changes = running.changes(to: wanted)
        let (settings, needsRestart) = wanted.takingEffect(after: running)
        settled = SettledRoutes(settings)
        outcome = ReloadOutcome(
            warnings: wanted.warnings,
            changes: Array(changes.prefix(ReloadOutcome.listedChanges)),
            unlistedChanges: max(0, changes.count - ReloadOutcome.listedChanges),
            needsRestart: needsRestart,
            usesCredentials: wanted.usesCredentials
        )
    }
}

/// Replaced routes, which a thread releases: this takes as long as making them.
///
/// Used only for many routes, because routes also hold vendors, and the secrets of removed vendors
/// must be released immediately.
final class OldRoutes: Sendable {
    /// Minimum number of routes; fewer take less than 1 ms on the service loop.
    static let many = 1_000

    private let content: Lock<([RouteSettings], RouteTable, RouteNames)?>

    /// Stores the routes of the components, without its secrets.
    @ServiceLoop
    init(_ components: Components) {
        content = Lock(
            (components.settings.routes, components.resolver.routes, components.routeNames)
        )
    }

    /// Releases the routes on the calling thread, unless a query still uses them.
    fileprivate func release() {
        let content = content.withLock { content in
            defer { content = nil }
            return content
        }
        withExtendedLifetime(content) {}
    }
}

extension Daemon {
    /// Maps the places of the current routes to their places under the `new` settings.
    func renamedRoutes(_ new: Components) async throws(StartError) -> [String: String] {
        let (before, now) = (components.routeNames, new.routeNames)
        do throws(SocketError) {
            return try await WorkerThread.run(named: "reload") { before.changes(to: now) }
        } catch {
            throw .system(error)
        }
    }

    /// Releases routes on a thread when no query that uses them can be pending.
    func release(_ old: OldRoutes) {
        ServiceLoop.task { [clocks = components.clocks] in
            // This task is never cancelled.
            try? await clocks.sleep(clocks.now() + ResolverLimits.total + .seconds(1))
            // If no thread can be created, the routes are released here.
            try? await WorkerThread.run(named: "release") { old.release() }
        }
    }
}
