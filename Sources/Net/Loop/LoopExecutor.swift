// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import CSystemd
private import Glibc
private import Locks
private import Synchronization

/// Thread that alternates between polling descriptors and running Swift jobs.
///
/// The executor of the global actor ``ServiceLoop``. One iteration runs the jobs and the
/// ``LoopWakeup`` handlers that were queued at its start, in order of arrival. Then it polls at
/// most 16 descriptors, so neither jobs nor sockets starve. One of these descriptors is the
/// epoll instance of sd-event, which D-Bus and signals use: sd-event needs thousands of
/// instructions per event.
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

    let poller = EventPoll()

    private let alarm: Int32

    // SAFETY: set once, never freed; used on the loop's thread only, except in `init`.
    nonisolated(unsafe) let event: OpaquePointer

    /// Watch of sd-event's epoll instance.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var eventWatch: DescriptorWatch?

    /// True if sd-event may have an event, or must prepare its sources.
    // SAFETY: used on the loop's thread only.
    private nonisolated(unsafe) var isEventDue = false

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
        // The eventfd is edge-triggered and therefore never read.
        let error = poller.add(alarm, EPOLLIN.rawValue | EPOLLET.rawValue, nil)
        precondition(error == 0, "cannot watch the eventfd: \(errorText(error))")
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
        ServiceLoop.assumeIsolated {
            LoopTimer.prepare()
            watchEvents()
        }
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

    /// Sends the queued datagrams, then dispatches the ready descriptors.
    ///
    /// Waits for a descriptor if no work is left.
    private func poll() {
        flushIfDue()
        let waits =
            unsafe own.isEmpty && !isFlushDue && !isEventDue
            && state.withLock { state in
                state.polling = state.jobs.isEmpty && state.wakeups.isEmpty && !state.stopping
                return state.polling
            }
        poller.poll(waits: waits)
        if waits { state.withLock { $0.polling = false } }
        poller.dispatch()
        dispatchEvent()
    }
}

// MARK: - sd-event

// SAFETY: used on the loop's thread only; `event` is never freed.
extension LoopExecutor {
    @ServiceLoop
    private func watchEvents() {
        do throws(SocketError) {
            unsafe eventWatch = try DescriptorWatch(sd_event_get_fd(event), .readable) { _ in
                LoopExecutor.shared.noteEvent()
            }
        } catch {
            preconditionFailure("cannot watch sd-event: \(error)")
        }
        noteEvent()
    }

    /// Makes sd-event prepare its sources before the thread waits.
    ///
    /// Call this after each change of a source, for example after a call to a D-Bus service: only
    /// the preparation arms timers and updates the watched events.
    @ServiceLoop
    func noteEvent() { unsafe isEventDue = true }

    /// Dispatches one event of sd-event, if there may be one.
    ///
    /// When none is left, the sources have been prepared.
    private func dispatchEvent() {
        guard unsafe isEventDue else { return }
        let status = unsafe sd_event_run(event, 0)
        precondition(
            status >= 0 || status == -EINTR,
            "sd-event failed: \(errorText(-status))"
        )
        if status == 0 { unsafe isEventDue = false }
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
