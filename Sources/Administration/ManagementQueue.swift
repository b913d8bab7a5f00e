// SPDX-License-Identifier: Apache-2.0
package import Net

/// Queue of jobs for control calls or scrapes.
///
/// One job runs at a time: root's jobs first, then the jobs of other users in round-robin order.
/// After a job, the queue pauses for twice the duration of the job, but at least 0.5 ms and at most
/// 50 ms.
@ServiceLoop
package final class ManagementQueue {
    static let pauseFactor = 2

    /// Takes into account the time to read a call and to send a reply, which is not part of a job.
    static let shortestPause = Duration.microseconds(500)

    /// A longer pause is not necessary, because a long job works mostly on another thread.
    static let longestPause = Duration.milliseconds(50)

    private let clocks: Clocks
    private(set) var jobs = 0
    var waitingJobs: Int { waiting.reduce(0) { $0 + $1.jobs.count } }
    private var isBusy = false

    /// Queued jobs by user; the next job to run is a job of the first user.
    private var waiting: [(user: UInt32, jobs: ArraySlice<CheckedContinuation<Void, Never>>)] = []

    private static let root: UInt32 = 0
    private var pause: (any Cancellable)?
    package nonisolated init(_ clocks: Clocks = .system) { self.clocks = clocks }

    /// Queues `job`, and runs it in the order that ``ManagementQueue`` describes.
    ///
    /// - Parameter job: must not wait for a client.
    func run<Value: Sendable>(
        for user: UInt32,
        _ job: @ServiceLoop () async throws -> Value
    ) async rethrows -> Value {
        if isBusy { await withCheckedContinuation { add($0, of: user) } }
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
        guard !waiting.isEmpty else {
            isBusy = false
            return
        }
        var (user, jobs) = waiting.removeFirst()
        let job = jobs.removeFirst()
        if !jobs.isEmpty { insert(jobs, of: user) }
        job.resume()
    }

    private func add(_ job: CheckedContinuation<Void, Never>, of user: UInt32) {
        if let index = waiting.firstIndex(where: { $0.user == user }) {
            waiting[index].jobs.append(job)
        } else {
            insert([job], of: user)
        }
    }

    private func insert(_ jobs: ArraySlice<CheckedContinuation<Void, Never>>, of user: UInt32) {
        waiting.insert((user, jobs), at: user == Self.root ? 0 : waiting.count)
    }
}

/// Runs `work` on a new thread, or on the service loop if no thread can be created.
///
/// A `@concurrent` function would stay on the service loop's thread, because the tasks of the loop
/// have this thread as their preferred executor (SE-0417).
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
