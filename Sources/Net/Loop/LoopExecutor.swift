// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import CSystemd
private import Glibc
private import Locks
private import Synchronization

/// Executor of ``ServiceLoop``: a thread that alternates between polling and running Swift jobs.
///
/// One iteration runs the jobs and the ``LoopWakeup`` handlers that were queued at its start. Then
/// the loop polls at most 16 descriptors, so neither jobs nor sockets starve. Only D-Bus uses
/// sd-event, because sd-event needs thousands of instructions per event.
///
/// **Waking.** A thread that queues a job sets `hasWork`. If `isPolling` is set, the thread clears
/// `isPolling` and writes to the eventfd, which ends the poll. The loop sets `isPolling`, and then
/// waits only if `hasWork` is not set. These operations are sequentially consistent, so no job is
/// lost.
package final class LoopExecutor: SerialExecutor {
    package static let shared = LoopExecutor()

    fileprivate enum Job {
        case isolated(UnownedJob)
        case preferring(UnownedJob)
    }

    private struct State {
        var jobs: [Job] = []
        var wakeups: [LoopWakeup] = []
        var stopping = false
        var thread: pthread_t?
    }

    private let state = Lock(State())

    /// Changed only with the lock held.
    private let hasWork = Atomic(false)

    /// True if the thread waits, or is about to wait, for a descriptor.
    private let isPolling = Atomic(false)

    // SAFETY: used on the loop's thread only; `event` is never freed.
    @safe
    private final class ThreadState: @unchecked Sendable {
        var jobs: [Job] = []

        var hasJobs = false

        var flush: () -> Void = {}
        var isFlushDue = false

        var delays = 0

        var ready = 0

        var event: OpaquePointer?
        var eventWatch: DescriptorWatch?

        /// True if sd-event may have an event, or must prepare its sources before the next wait.
        var isEventDue = false
    }

    private let own = ThreadState()

    private static let delayLimit = 4

    let poller = EventPoll()

    private let alarm: Int32

    private let thread = Atomic<UInt>(0)

    private init() {
        alarm = linux_eventfd()
        precondition(alarm >= 0, "no eventfd for the service loop: \(errorText(errno))")
        // Edge-triggered, so the eventfd is never read.
        let error = poller.add(alarm, EPOLLIN.rawValue | EPOLLET.rawValue, nil)
        precondition(error == 0, "cannot watch the eventfd: \(errorText(error))")
    }
}

// MARK: - Executor

extension LoopExecutor {
    /// Queues a job; callable from any thread.
    package func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

    fileprivate func enqueue(_ job: Job) {
        guard !isCurrent else {
            own.jobs.append(job)
            own.hasJobs = true
            return
        }
        add { state in
            state.jobs.append(job)
            if state.thread == nil { state.thread = Self.makeThread() }
        }
    }

    func enqueue(_ wakeup: LoopWakeup) { add { $0.wakeups.append(wakeup) } }

    private func add(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            hasWork.store(true, ordering: .sequentiallyConsistent)
        }
        guard isPolling.load(ordering: .sequentiallyConsistent),
            isPolling.exchange(false, ordering: .sequentiallyConsistent)
        else { return }
        let status = linux_eventfd_signal(alarm)
        precondition(status == 0, "cannot wake the service loop: \(errorText(errno))")
    }

    package var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    package func checkIsolated() {
        precondition(isCurrent, "this runs on the service loop's thread only")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

// MARK: - The thread

// SAFETY: properties of the loop's thread are used on that thread only.
extension LoopExecutor {
    func start() {
        state.withLock { state in
            if state.thread == nil { state.thread = Self.makeThread() }
        }
    }

    /// Creates the thread, which inherits the caller's signal mask and capabilities.
    ///
    /// Ignores SIGPIPE and SIGXFSZ in the whole process, so that a write returns an error instead.
    /// Ignores SIGUSR2 and SIGALRM, which would end the process: an operator can send SIGUSR2
    /// instead of SIGUSR1 by mistake.
    private static func makeThread() -> pthread_t {
        Glibc.signal(SIGPIPE, SIG_IGN)
        Glibc.signal(SIGXFSZ, SIG_IGN)
        Glibc.signal(SIGUSR2, SIG_IGN)
        Glibc.signal(SIGALRM, SIG_IGN)
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
    func stop() { add { $0.stopping = true } }

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
            if own.hasJobs {
                swap(&own.jobs, &batch)
                own.hasJobs = false
            }
            if hasWork.load(ordering: .acquiring) {
                let goesOn = state.withLock { state in
                    if !state.jobs.isEmpty {
                        batch += state.jobs
                        state.jobs.removeAll(keepingCapacity: true)
                    }
                    swap(&state.wakeups, &wakeups)
                    hasWork.store(false, ordering: .relaxed)
                    return !state.stopping
                }
                guard goesOn else { break }
            }
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

    @ServiceLoop
    func setFlush(_ flush: @escaping @ServiceLoop () -> Void) {
        unsafe own.flush = unsafeBitCast(flush, to: (() -> Void).self)
    }

    @ServiceLoop
    func flushLater() { own.isFlushDue = true }

    private func flushIfDue() {
        guard own.isFlushDue else { return }
        own.isFlushDue = false
        own.flush()
    }

    /// If the last poll had several events, sends the queued datagrams later, because one system
    /// call can then also send datagrams that are queued meanwhile.
    private func poll() {
        if own.isFlushDue, own.ready > 1, !own.hasJobs, own.delays < Self.delayLimit {
            own.delays += 1
            dispatch(waits: false)
            guard own.ready == 0 else { return }
        }
        own.delays = 0
        flushIfDue()
        dispatch(waits: mayWait())
    }

    private func dispatch(waits: Bool) {
        own.ready = poller.poll(waits: waits)
        isPolling.store(false, ordering: .relaxed)
        poller.dispatch()
        dispatchEvent()
    }

    private func mayWait() -> Bool {
        guard !own.hasJobs && !own.isFlushDue && !own.isEventDue else { return false }
        isPolling.store(true, ordering: .sequentiallyConsistent)
        return !hasWork.load(ordering: .sequentiallyConsistent)
    }
}

// MARK: - sd-event

// SAFETY: used on the loop's thread only; the loop of sd-event is never freed.
extension LoopExecutor {
    @ServiceLoop
    func event() throws(SocketError) -> OpaquePointer {
        var event = unsafe own.event
        if unsafe event == nil {
            let status = unsafe sd_event_new(&event)
            unsafe own.event = event
            guard status >= 0 else { throw .system(call: "sd_event_new", code: -status) }
        }
        guard let event = unsafe event else { preconditionFailure("sd_event_new returned nil") }
        if own.eventWatch == nil {
            own.eventWatch = try DescriptorWatch(unsafe sd_event_get_fd(event), .readable) { _ in
                LoopExecutor.shared.noteEvent()
            }
        }
        return unsafe event
    }

    /// Call this after each change of a source, because sd-event arms timers and updates the
    /// watched events only when it prepares the sources.
    @ServiceLoop
    func noteEvent() { own.isEventDue = true }

    /// Dispatches at most one event of sd-event; without an event, sd-event prepares its sources.
    private func dispatchEvent() {
        guard own.isEventDue else { return }
        guard let event = unsafe own.event else {
            own.isEventDue = false
            return
        }
        let status = unsafe sd_event_run(event, 0)
        precondition(
            status >= 0 || status == -EINTR,
            "sd-event failed: \(errorText(-status))"
        )
        if status == 0 { own.isEventDue = false }
    }
}

/// Task executor that runs nonisolated code of a task on the loop's thread.
package final class LoopTaskExecutor: TaskExecutor {
    package static let shared = LoopTaskExecutor()

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        LoopExecutor.shared.enqueue(.preferring(UnownedJob(job)))
    }
}
