// SPDX-License-Identifier: Apache-2.0
package import Control
package import Net

/// What the daemon does for the verbs of `httpdnsctl`.
///
/// Called on the service loop.  Arguments have the right types and agree with each other; whether a
/// text is a DNS name or a type is for the handler to find out, with `invalidArgument`.
@ServiceLoop
package protocol ControlHandling: Sendable {
    /// Takes one of several replies to a call, and waits until the peer has taken it.
    typealias Tell<Results> = @ServiceLoop (Results) async throws -> Void

    /// Tells whether all is well, and if not, why.
    func status() async throws(MethodError) -> StatusReply

    /// Tells what was counted, and if `reset` is true starts again from zero.
    func stats(reset: Bool) async throws(MethodError) -> StatsReply

    /// Tells the same at once and then after every `interval`, until its task is cancelled.
    ///
    /// - Throws: `CancellationError`, and what `tell` throws.
    func stats(every interval: Duration, _ tell: @escaping Tell<StatsReply>) async throws

    /// Removes entries from the cache, or marks them stale if `soft` is true, and tells how many;
    /// none is no error, but a source that there is not is `notFound`.
    func flush(_ scope: FlushRequest.Scope, soft: Bool) async throws(MethodError) -> FlushReply

    /// Tells what the cache holds, causing no traffic; a reply without entries becomes `notFound`.
    func lookup(_ request: LookupRequest) async throws(MethodError) -> LookupReply

    /// Tells how a question is answered now, causing no traffic unless `isLive` is true.
    func explain(_ request: ExplainRequest, isLive: Bool) async throws(MethodError) -> ExplainReply

    /// Asks for names as clients do.
    ///
    /// - Parameter tell: told of each when it and those before it are known; nil to return all.
    /// - Throws: `MethodError`, `CancellationError`, and what `tell` throws.
    func resolve(
        _ request: ResolveRequest,
        _ tell: Tell<ResolveReply>?
    ) async throws -> ResolveReply

    /// Tells all that the cache holds, in parts, and returns the last one, which is empty.
    ///
    /// - Throws: `CancellationError`, and what `tell` throws.
    func dump(_ tell: @escaping Tell<DumpReply>) async throws -> DumpReply

    /// Tells which names cost most.
    func topCost(_ count: Int) async throws(MethodError) -> TopReply<NameCost>

    /// Tells which of the queries that are still known took longest.
    func topSlow(_ count: Int) async throws(MethodError) -> TopReply<QueryEvent>

    /// Tells of which names or clients there were most queries, of the kind that is meant.
    func topQueries(
        _ kind: TopRequest.Kind,
        count: Int
    ) async throws(MethodError) -> TopReply<QueryCount>

    /// Tells of the queries that come from now on, until `request.count` were told or the task is
    /// cancelled.
    ///
    /// - Throws: `MethodError`, `CancellationError`, and what `tell` throws.
    func watch(_ request: WatchRequest, _ tell: @escaping Tell<WatchReply>) async throws

    /// Sends no more to a vendor or upstream until it is resumed.
    ///
    /// - Throws: `notFound` if there is none of this name.
    func pause(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply

    /// Asks a vendor or upstream again, whatever it said; throws as `pause`.
    func resume(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply

    /// Returns the settings that are in force.
    func settings() async throws(MethodError) -> SettingsReply

    /// Returns all routes, or the one of a name; `notFound` if no route covers it.
    func routes(_ request: RoutesRequest) async throws(MethodError) -> RoutesReply

    /// Returns the level of the log, after changing it if the request has one.
    func logLevel(_ request: LogLevelRequest) async throws(MethodError) -> LogLevelReply

    /// Puts the settings of the file in force, and tells what has changed or what is wrong.
    func reload() async throws(MethodError) -> ReloadReply

    /// Tells what a reload would say, of the file or of another text; changes nothing.
    func check(_ request: CheckRequest) async throws(MethodError) -> ReloadReply

    /// Tells what runs.
    func version() async throws(MethodError) -> VersionReply
}
