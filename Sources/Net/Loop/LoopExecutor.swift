// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import CSystemd
private import Glibc
private import Locks
private import Synchronization

/// Thread that alternates between polling an sd-event loop and running Swift jobs.
///
/// The executor of the global actor ``ServiceLoop``. One iteration runs the jobs and the
/// ``LoopWakeup`` handlers that were queued at its start, in order of arrival. Then it dispatches
/// at most 16 sources, so neither jobs nor sockets starve.
///
/// **Waking.** A lock guards the queue and `polling`. The loop sets `polling` before a poll if the
/// queue is empty. A thread that queues a job while `polling` is set clears `polling` and writes to
/// the eventfd, which ends the poll. So no job is lost, and many jobs need one system call.
// SAFETY: see `event`.
@safe
package final class LoopExecutor: SerialExecutor {
    package static let shared = LoopExecutor()

    /// Queued job and the executor that must run it.
    fileprivate enum Job {
        case isolated(UnownedJob)
        case preferring(UnownedJob)
    }

    private struct State {
        /// Jobs that other threads queued for the next iteration.
        var jobs: [Job] = []
        var wakeups: [LoopWakeup] = []
        /// True if the thread waits, or is about to wait, for a descriptor.
        var polling = false
        var stopping = false
        var thread: pthread_t?
    }

    private let state = Lock(State())

    /// Jobs that the loop's thread queued for the next iteration.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var own: [Job] = []

    /// Sends the queued datagrams; runs before the thread waits, if ``flushLater()`` was called.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var flush: () -> Void = {}
    private nonisolated(unsafe) var isFlushDue = false

    /// True if a timer was set after the last `sd_event_prepare`, which arms timers.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var hasUnarmedTimer = false

    private static let sourcesPerTurn = 16

    private let alarm: Int32

    // SAFETY: set once, never freed; used on the loop's thread only, except in `init`.
    nonisolated(unsafe) let event: OpaquePointer

    /// The thread's `pthread_t`; 0 while no thread runs.
    private let thread = Atomic<UInt>(0)

    private init() {
        alarm = linux_eventfd()
        precondition(alarm >= 0, "no eventfd for the service loop: \(errorText(errno))")
        var made: OpaquePointer?
        let status = unsafe sd_event_new(&made)
        guard let made = unsafe made else {
            preconditionFailure("cannot create the sd-event loop: \(errorText(-status))")
        }
        unsafe event = made
        // SAFETY: the handler needs no data. The eventfd is edge-triggered and therefore never
        // read.
        let added = unsafe sd_event_add_io(
            event,
            nil,
            alarm,
            EPOLLIN.rawValue | EPOLLET.rawValue,
            { _, _, _, _ in 0 },
            nil
        )
        precondition(added >= 0, "cannot watch the eventfd: \(errorText(-added))")
    }
}

// MARK: - Executor

extension LoopExecutor {
    /// Queues a job; callable from any thread.
    package func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

    fileprivate func enqueue(_ job: Job) {
        // SAFETY: `isCurrent` has checked the thread.
        guard !isCurrent else { return unsafe own.append(job) }
        let wake = state.withLock { state in
            state.jobs.append(job)
            if state.thread == nil { state.thread = Self.makeThread() }
            defer { state.polling = false }
            return state.polling
        }
        if wake { signal() }
    }

    func enqueue(_ wakeup: LoopWakeup) {
        let wake = state.withLock { state in
            state.wakeups.append(wakeup)
            defer { state.polling = false }
            return state.polling
        }
        if wake { signal() }
    }

    package var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    package func checkIsolated() {
        precondition(isCurrent, "this runs on the service loop's thread only")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

// MARK: - The thread

// SAFETY: properties of the loop's thread are used on that thread only; `event` is never freed.
extension LoopExecutor {
    func start() {
        state.withLock { state in
            if state.thread == nil { state.thread = Self.makeThread() }
        }
    }

    /// Creates the thread, which inherits the caller's signal mask and capabilities.
    ///
    /// Ignores SIGPIPE and SIGXFSZ in the whole process: a write to a closed connection, or above
    /// the limit of file sizes, returns an error.
    private static func makeThread() -> pthread_t {
        Glibc.signal(SIGPIPE, SIG_IGN)
        Glibc.signal(SIGXFSZ, SIG_IGN)
        var made = pthread_t()
        // SAFETY: the entry needs no argument; `shared` is never freed.
        let error = unsafe pthread_create(
            &made,
            nil,
            { _ in
                LoopExecutor.shared.run()
                return nil
            },
            nil
        )
        precondition(error == 0, "cannot start the service thread: \(errorText(error))")
        return made
    }

    func join() {
        guard let thread = state.withLock({ $0.thread }) else { return }
        let error = pthread_join(thread, nil)
        precondition(error == 0, "cannot wait for the service thread: \(errorText(error))")
    }

    /// Ends the thread after the current iteration; queued jobs never run.
    func stop() {
        let wake = state.withLock { state in
            state.stopping = true
            defer { state.polling = false }
            return state.polling
        }
        if wake { signal() }
    }

    private func signal() {
        // Fails only after 2^64 - 2 writes.
        let status = linux_eventfd_signal(alarm)
        precondition(status == 0, "cannot wake the service loop: \(errorText(errno))")
    }

    private func run() {
        _ = unsafe linux_name_thread("service")
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        ServiceLoop.assumeIsolated { LoopTimer.prepare() }
        // SAFETY: this is the loop's thread; no executor is ever freed.
        let serial = unsafe asUnownedSerialExecutor()
        let task = unsafe LoopTaskExecutor.shared.asUnownedTaskExecutor()
        var batch: [Job] = []
        var wakeups: [LoopWakeup] = []
        while true {
            unsafe swap(&own, &batch)
            let goesOn = state.withLock { state in
                if !state.jobs.isEmpty {
                    batch += state.jobs
                    state.jobs.removeAll(keepingCapacity: true)
                }
                swap(&state.wakeups, &wakeups)
                return !state.stopping
            }
            guard goesOn else { break }
            for job in batch {
                // SAFETY: each job was enqueued once and is run once.
                switch job {
                case .isolated(let job):
                    unsafe job.runSynchronously(on: serial)
                case .preferring(let job):
                    unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task)
                }
            }
            if !batch.isEmpty { batch.removeAll(keepingCapacity: true) }
            if !wakeups.isEmpty {
                for wakeup in wakeups { wakeup.call() }
                wakeups.removeAll(keepingCapacity: true)
            }
            poll()
        }
        flushIfDue()
        thread.store(0, ordering: .relaxed)
    }

    /// Records that a timer was set: the thread calls `sd_event_prepare` again before it waits.
    func noteTimer() { unsafe hasUnarmedTimer = true }

    @ServiceLoop
    func setFlush(_ flush: @escaping @ServiceLoop () -> Void) {
        unsafe self.flush = unsafeBitCast(flush, to: (() -> Void).self)
    }

    /// Schedules one flush, at the end of this iteration.
    @ServiceLoop
    func flushLater() { unsafe isFlushDue = true }

    private func flushIfDue() {
        guard unsafe isFlushDue else { return }
        unsafe isFlushDue = false
        unsafe flush()
    }

    /// Dispatches at most ``sourcesPerTurn`` sources, and waits for them if no job is queued.
    private func poll() {
        for _ in 0..<Self.sourcesPerTurn { guard dispatch() else { break } }
        flushIfDue()
    }

    /// Dispatches one source; returns false if none was ready, or if another thread queued a job.
    ///
    /// If no source is ready, flushes the datagrams, then waits unless a job is queued.
    private func dispatch() -> Bool {
        var status = unsafe sd_event_prepare(event)
        var isSignalled = false
        if status == 0 {
            unsafe hasUnarmedTimer = false
            flushIfDue()
            let waits =
                unsafe own.isEmpty && !isFlushDue && !hasUnarmedTimer
                && state.withLock { state in
                    state.polling =
                        state.jobs.isEmpty && state.wakeups.isEmpty && !state.stopping
                    return state.polling
                }
            status = unsafe sd_event_wait(event, waits ? .max : 0)
            if waits {
                isSignalled = state.withLock { state in
                    defer { state.polling = false }
                    return !state.polling
                }
            }
        }
        let isReady = status > 0
        if isReady { status = unsafe sd_event_dispatch(event) }
        precondition(
            status >= 0 || status == -EINTR,
            "the event loop failed: \(errorText(-status))"
        )
        return isReady && !isSignalled
    }
}

/// Task executor that runs nonisolated code of a task on the loop's thread.
///
/// Calls into ``ServiceLoop`` then need no thread change.
package final class LoopTaskExecutor: TaskExecutor {
    package static let shared = LoopTaskExecutor()

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        LoopExecutor.shared.enqueue(.preferring(UnownedJob(job)))
    }
}
