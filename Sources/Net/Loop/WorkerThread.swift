// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// System thread for blocking work, which Swift's thread pool must not run.
package final class WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread; `name` has at most 15 octets.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(SocketError) {
        let work = unsafe Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        // SAFETY: the thread takes over the passed reference.
        let status = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                _ = unsafe linux_name_thread(work.name)
                _ = linux_allow_interrupts()
                work.body()
                return nil
            },
            work.toOpaque()
        )
        guard status == 0 else {
            unsafe work.release()
            throw .system(call: "pthread_create", code: status)
        }
        self.thread = thread
    }

    /// Waits for the thread's end; call it once.
    package func join() {
        pthread_join(thread, nil)
    }

    private func detach() { pthread_detach(thread) }

    /// Waits for the thread's end, and meanwhile interrupts its system calls.
    ///
    /// After each system call, the thread must check whether to end.
    package func joinInterrupting() {
        let error = linux_join_interrupting(thread)
        precondition(error == 0, "cannot join a worker thread")
    }

    /// Runs `body` on a new thread; cannot be cancelled.
    @ServiceLoop
    package static func run<Result: Sendable>(
        named name: String,
        _ body: @escaping @Sendable () -> Result
    ) async throws(SocketError) -> Result {
        var failure: SocketError?
        let result: Result? = await withCheckedContinuation { continuation in
            do throws(SocketError) {
                // Not joined, because the thread may need 70 ms to release large values.
                try WorkerThread(named: name) { continuation.resume(returning: body()) }.detach()
            } catch {
                failure = error
                continuation.resume(returning: nil)
            }
        }
        if let failure { throw failure }
        guard let result else { preconditionFailure("the thread has ended without a result") }
        return result
    }

    /// Blocks the calling thread, which must have no other work.
    package static func pause(milliseconds: Int32) {
        _ = poll(nil, 0, milliseconds)
    }

    /// Lets other threads run on the processor of the calling thread.
    package static func yield() { _ = sched_yield() }

    /// Number of processors that this process may use, at least 1.
    package static var processors: Int { Int(processors_allowed()) }

    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
