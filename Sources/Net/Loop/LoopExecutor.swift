// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import CSystemd
private import Glibc
private import Locks
private import Synchronization

/// One thread that runs an sd-event loop and, between two polls of it, Swift's jobs.
///
/// It is the executor of the global actor ``ServiceLoop``.  A turn runs the jobs that the thread itself
/// queued, then those of others, each in the order in which they came, whatever their priority.
///
/// **Fairness.**  A turn runs at most the jobs that were queued when it began, then polls: jobs
/// that queue further jobs never keep a socket waiting, and sd-event dispatches one source a poll,
/// so a busy socket never keeps a job waiting.
///
/// **Waking.**  `polling` is true from the moment the thread, holding the lock, has seen an empty
/// queue until it has come back from the poll.  Whoever queues a job holds the same lock, so one of
/// two things is true: the job came before the look, and then the thread has seen it and polls
/// without waiting; or it came after, and then its owner sees `polling` and writes to the eventfd,
/// which stays readable until an epoll has reported it, even one that has not begun yet.  Nothing
/// is lost, and nobody writes while the thread is awake: so all jobs but the first of a burst cost no
/// system call.  Jobs that the thread queues for itself need neither the eventfd nor the lock.
// SAFETY: the one unsafe thing stored is the loop, see there.
@safe
package final class LoopExecutor: SerialExecutor {
    /// The executor of ``ServiceLoop``.
    package static let shared = LoopExecutor()

    /// A job, and as what it has to be run.
    ///
    /// The runtime compares what a job runs on with what the next function wants, and queues the
    /// task again if they differ: a job that was run "on the preferred executor" although its task
    /// prefers none would pay that, and a turn of the loop, at every call of an async function.
    fileprivate enum Job {
        case isolated(UnownedJob)
        case preferring(UnownedJob)
    }

    /// What the lock guards.
    private struct State {
        /// Jobs of other threads that wait for the next turn.
        var jobs: [Job] = []
        /// Whether the thread waits, or is about to wait, for a descriptor.
        var polling = false
        /// Whether the thread shall end before its next turn.
        var stopping = false
        /// The thread, once it was started.
        var thread: pthread_t?
    }

    private let state = Lock(State())

    /// Jobs of the loop's own thread that wait for the next turn.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var own: [Job] = []

    /// Written to wake the thread.
    private let alarm: Int32

    /// The sd-event loop.
    // SAFETY: set once, never freed; used from the loop's thread only, except in `init`.
    nonisolated(unsafe) let event: OpaquePointer

    /// The thread's `pthread_t`, 0 while there is none.
    private let thread = Atomic<UInt>(0)

    /// Makes the loop, not yet its thread.
    private init() {
        alarm = linux_eventfd()
        precondition(alarm >= 0, "no event counter for the service loop: \(errorText(errno))")
        var made: OpaquePointer?
        // SAFETY: out-parameter of the right type, checked below.
        let status = unsafe sd_event_new(&made)
        guard let made = unsafe made else {
            preconditionFailure("no event loop: \(errorText(-status))")
        }
        unsafe event = made
        // SAFETY: the handler needs no data: it only has to make the poll return.  Edge-triggered,
        // so that the counter never has to be read: each write is a new edge.
        let added = unsafe sd_event_add_io(
            event,
            nil,
            alarm,
            EPOLLIN.rawValue | EPOLLET.rawValue,
            { _, _, _, _ in 0 },
            nil
        )
        precondition(added >= 0, "cannot watch the event counter: \(errorText(-added))")
    }
}

// MARK: - Executor

extension LoopExecutor {
    /// Queues a job of code that is isolated to the loop, from any thread.
    package func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

    /// Queues a job, and wakes the thread if it waits.
    fileprivate func enqueue(_ job: Job) {
        // SAFETY: this is the loop's thread, or it would not be current.
        guard !isCurrent else { return unsafe own.append(job) }
        let wake = state.withLock { state in
            state.jobs.append(job)
            // The first of a burst wakes; the others find it done.
            defer { state.polling = false }
            return state.polling
        }
        if wake { signal() }
    }

    /// Whether the calling thread is the loop's.
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Traps unless called on the loop's thread.
    package func checkIsolated() {
        precondition(isCurrent, "this runs on the service loop's thread only")
    }

    /// Tells the runtime whether code that runs now is isolated to the loop.
    package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

// MARK: - The thread

extension LoopExecutor {
    /// Starts the thread if there is none.
    ///
    /// The thread takes over the caller's signal mask: see `ServiceLoop.blockSignals(_:)`.
    func start() {
        state.withLock { state in
            guard state.thread == nil else { return }
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
            state.thread = made
        }
    }

    /// Waits for the end of the thread, which must have been started.
    func join() {
        guard let thread = state.withLock({ $0.thread }) else { return }
        let error = pthread_join(thread, nil)
        precondition(error == 0, "cannot wait for the service thread: \(errorText(error))")
    }

    /// Makes the thread end after the turn it is in, for good; jobs still queued never run.
    func stop() {
        let wake = state.withLock { state in
            state.stopping = true
            defer { state.polling = false }
            return state.polling
        }
        if wake { signal() }
    }

    /// Makes a poll return, now or as soon as it begins.
    private func signal() {
        // Fails only if the counter is full after 2^64 - 2 writes.
        let status = linux_eventfd_signal(alarm)
        precondition(status == 0, "cannot wake the service loop: \(errorText(errno))")
    }

    /// What the thread does until it is stopped.
    private func run() {
        // SAFETY: a literal, which ends with NUL.
        _ = unsafe linux_name_thread("service")
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        ServiceLoop.assumeIsolated { LoopTimer.prepare() }
        // SAFETY: neither executor is ever freed.
        let serial = unsafe asUnownedSerialExecutor()
        let task = unsafe LoopTaskExecutor.shared.asUnownedTaskExecutor()
        var batch: [Job] = []
        while true {
            // SAFETY: this is the loop's thread.
            unsafe swap(&own, &batch)
            let goesOn = state.withLock { state in
                batch += state.jobs
                state.jobs.removeAll(keepingCapacity: true)
                return !state.stopping
            }
            guard goesOn else { break }
            for job in batch {
                // SAFETY: each job was handed to `enqueue` once and is run once.
                switch job {
                case .isolated(let job):
                    unsafe job.runSynchronously(on: serial)
                case .preferring(let job):
                    unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task)
                }
            }
            batch.removeAll(keepingCapacity: true)
            poll()
        }
        thread.store(0, ordering: .relaxed)
    }

    /// Dispatches one ready source, waiting for one unless there are jobs.
    private func poll() {
        // SAFETY: `event` lives as long as the loop, and this is its thread, as `own` wants it.
        var status = unsafe sd_event_prepare(event)
        if status == 0 {
            let idle =
                unsafe own.isEmpty
                && state.withLock { state in
                    state.polling = state.jobs.isEmpty && !state.stopping
                    return state.polling
                }
            status = unsafe sd_event_wait(event, idle ? .max : 0)
            if idle { state.withLock { $0.polling = false } }
        }
        if status > 0 { status = unsafe sd_event_dispatch(event) }
        precondition(
            status >= 0 || status == -EINTR,
            "the event loop failed: \(errorText(-status))"
        )
    }
}

/// The loop as the preferred executor of tasks whose code is isolated to no actor.
///
/// For `Task(executorPreference:)` and `addTask(executorPreference:)`: such code then runs on the
/// loop's thread rather than on a thread of the runtime's pool, and calls into ``ServiceLoop``
/// without a change of threads.
package final class LoopTaskExecutor: TaskExecutor {
    package static let shared = LoopTaskExecutor()

    private init() {}

    /// Queues a job from any thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        LoopExecutor.shared.enqueue(.preferring(UnownedJob(job)))
    }
}
