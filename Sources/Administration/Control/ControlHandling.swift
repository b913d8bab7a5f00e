// SPDX-License-Identifier: Apache-2.0
package import Control
package import Net

/// Handler of the methods that `ControlInterface.description` documents, on the service loop.
///
/// The caller has checked the JSON types of the arguments. For an invalid DNS name or record type,
/// the handler throws `invalidArgument`.
///
/// Methods with `send` also throw `CancellationError` and the errors of `send`. If `send` is nil,
/// they return all results.
@ServiceLoop
package protocol ControlHandling: Sendable {
    typealias Send<Results> = @ServiceLoop (Results) async throws -> Void

    func status() async throws(MethodError) -> StatusReply
    func stats(reset: Bool) async throws(MethodError) -> StatsReply

    /// Sends the counters now, and then once per `interval` until the task is cancelled.
    func stats(every interval: Duration, _ send: @escaping Send<StatsReply>)
        async throws

    /// - Throws: `notFound` for an unknown source.
    func flush(
        _ scope: FlushRequest.Scope,
        soft: Bool,
        fleet: Bool
    ) async throws(MethodError) -> FlushReply

    func lookup(_ request: LookupRequest) async throws(MethodError) -> LookupReply

    func explain(_ request: ExplainRequest, isLive: Bool) async throws(MethodError) -> ExplainReply

    func resolve(
        _ request: ResolveRequest,
        _ send: Send<ResolveReply>?
    ) async throws -> ResolveReply

    /// Sends all cache entries in parts, then returns an empty part.
    func dump(_ send: @escaping Send<DumpReply>) async throws -> DumpReply

    func topCost(_ count: Int) async throws(MethodError) -> TopReply<NameCost>

    /// Fetches the vendors' own counts of calls, which `bill` then returns; takes up to 6 s.
    func countByVendors() async

    /// - Throws: `notFound` for an unknown vendor.
    func bill(_ request: BillRequest) async throws(MethodError) -> BillReply

    func prove(_ request: ProveRequest, _ send: Send<ProveReply>?) async throws -> ProveReply

    func topSlow(_ count: Int) async throws(MethodError) -> TopReply<QueryEvent>

    func topQueries(
        _ kind: TopRequest.Kind,
        count: Int
    ) async throws(MethodError) -> TopReply<QueryCount>

    func watch(_ request: WatchRequest, _ send: @escaping Send<WatchReply>) async throws

    /// - Throws: `notFound` for an unknown name.
    func pause(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply

    /// Resumes a vendor or upstream, and resets its circuit breaker.
    func resume(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply

    func settings() -> LongReply<SettingsReply>

    /// - Throws: `notFound` if the name has no route.
    func routes(_ request: RoutesRequest) throws(MethodError) -> LongReply<RoutesReply>

    func logLevel(_ request: LogLevelRequest) async throws(MethodError) -> LogLevelReply

    func portal(_ request: PortalRequest) async throws(MethodError) -> PortalReply

    func reload() async throws(MethodError) -> ReloadReply
    func check(_ request: CheckRequest) async throws(MethodError) -> ReloadReply
    func version() async throws(MethodError) -> VersionReply
}

/// Reply of up to 16 MiB, which `offLoop` builds on another thread.
package struct LongReply<Results: Encodable & Sendable>: Sendable {
    /// Reason of the error if the reply exceeds ``ControlLimits/replyOctets``.
    let excess: String

    /// Builds the results; may return nil if the results are too long.
    let results: @Sendable () -> Results?

    package init(excess: String, results: @escaping @Sendable () -> Results?) {
        self.excess = excess
        self.results = results
    }

    func message() throws -> [UInt8] {
        let message = try results().map { try Reply.message(results: $0) }
        guard let message, message.count <= ControlLimits.replyOctets else {
            throw MethodError.failed(reason: excess)
        }
        return message
    }
}
