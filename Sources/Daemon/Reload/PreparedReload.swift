// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import Locks
internal import Net
internal import Resolver

/// New settings, and their differences from the current ones.
struct PreparedReload: Sendable {
    let settled: SettledRoutes
    let outcome: ReloadOutcome

    /// Compares the settings on a thread: there may be 100,000 routes.
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

/// Many replaced routes, which a thread releases.
///
/// With few routes, secrets of removed vendors are released immediately.
final class OldRoutes: Sendable {
    /// Minimum number of routes to release on a thread; fewer take less than 1 ms.
    static let many = 1_000

    private let content: Lock<([RouteSettings], RouteTable, RouteNames)?>

    @ServiceLoop
    init(_ components: Components) {
        content = Lock(
            (components.settings.routes, components.resolver.routes, components.routeNames)
        )
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
    /// Maps the old place in the settings (`file:line`) of each moved route to the new place.
    func renamedRoutes(_ new: Components) async throws(StartError) -> [String: String] {
        let (before, now) = (components.routeNames, new.routeNames)
        do throws(SocketError) {
            return try await WorkerThread.run(named: "reload") { before.changes(to: now) }
        } catch {
            throw .system(error)
        }
    }

    func release(_ old: OldRoutes) {
        ServiceLoop.task { [clocks = components.clocks] in
            try? await clocks.sleep(clocks.now() + ResolverLimits.total + .seconds(1))
            // If no thread can be created, `old` is released here.
            try? await WorkerThread.run(named: "release") { old.release() }
        }
    }
}
