// SPDX-License-Identifier: Apache-2.0
package import Net

/// Queue of jobs for control calls or scrapes.
///
/// Jobs run one at a time, each followed by a pause of twice its duration: they use at most a third
/// of the service loop, and one other thread.
@ServiceLoop
package final class ManagementQueue {
    /// Multiple of the job's duration.
    static let pauseFactor = 2

    /// Accounts for reading the call and sending the reply.
    static let shortestPause = Duration.microseconds(500)

    /// A long job on another thread does not load the service loop.
    static let longestPause = Duration.milliseconds(50)

    private let clocks: Clocks
    private(set) var jobs = 0

    var waitingJobs: Int { waiting.count }

    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private var pause: (any Cancellable)?

    package nonisolated init(_ clocks: Clocks = .system) { self.clocks = clocks }

    /// `job` must not wait for a client.
    func run<Value: Sendable>(_ job: @ServiceLoop () async throws -> Value) async rethrows -> Value
    {
        if isBusy {
            await withCheckedContinuation { waiting.append($0) }
        }
        isBusy = true
        jobs += 1
        let start = clocks.now()
        defer { rest(after: clocks.now() - start) }
        return try await job()
    }

    private func rest(after time: Duration) {
        let length = min(max(time * Self.pauseFactor, Self.shortestPause), Self.longestPause)
        pause = clocks.timer(clocks.now() + length) { [weak self] in self?.next() }
    }

    private func next() {
        pause = nil
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        isBusy = false
    }
}

/// Runs `work` on a new thread, or on the service loop if no thread can be created.
///
/// `@concurrent` is no substitute: tasks of the service loop prefer its thread (SE-0417).
@ServiceLoop
func offLoop<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure>
    do throws(SocketError) {
        result = try await WorkerThread.run(named: "management") { Result(catching: work) }
    } catch {
        result = Result(catching: work)
    }
    return try result.get()
}
