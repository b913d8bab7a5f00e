// SPDX-License-Identifier: Apache-2.0
internal import Locks
internal import Net
internal import Resolver

/// Settings that may take the place of others, and the differences between the two: what a thread
/// finds out before a reload.
struct PreparedReload: Sendable {
    /// The settings as far as they need no restart.
    let settled: SettledRoutes
    let outcome: ReloadOutcome

    /// Compares `wanted` with the `running` settings on a thread, as there may be 100,000 routes.
    ///
    /// - Throws: `StartError.system` if there can be no more threads.
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

/// Routes that were in force, until a thread releases them: that takes as long as making them.
///
/// Only for many routes: they also hold the vendors, whose secrets are to go at once.
final class OldRoutes: Sendable {
    /// Routes that are released on a thread; fewer take the loop less than a millisecond.
    static let many = 1_000

    private let content: Lock<([RouteSettings], RouteTable, RouteNames)?>

    /// Keeps the routes of an assembly, and none of its secrets.
    @ServiceLoop
    init(_ assembly: Assembly) {
        content = Lock((assembly.settings.routes, assembly.resolver.routes, assembly.routeNames))
    }

    /// Releases them, on the calling thread unless a query still has them.
    fileprivate func release() {
        let content = content.withLock { content in
            defer { content = nil }
            return content
        }
        withExtendedLifetime(content) {}
    }
}

extension Daemon {
    /// Returns how the places of the routes in force are called under `new` settings.
    func renamedRoutes(_ new: Assembly) async throws(StartError) -> [String: String] {
        let (before, now) = (assembly.routeNames, new.routeNames)
        do throws(SocketError) {
            return try await WorkerThread.run(named: "reload") { before.changes(to: now) }
        } catch {
            throw .system(error)
        }
    }

    /// Has a thread release routes when no query is left that was sent under them.
    func release(_ old: OldRoutes) {
        ServiceLoop.task { [clocks = assembly.clocks] in
            // Nobody cancels this task.
            try? await clocks.sleep(clocks.now() + ResolverLimits.total + .seconds(1))
            // Without a thread they are released here.
            try? await WorkerThread.run(named: "release") { old.release() }
        }
    }
}
