// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// A thread of the system's, for work that waits in system calls all its life.
///
/// Swift's own threads are few and must not block, so such work must not run on them.
package final class WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread that runs `body` and ends with it.
    ///
    /// - Parameter name: what ps and top show, at most 15 octets.
    /// - Throws: `SocketError.system` if there can be no more threads.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(SocketError) {
        let work = unsafe Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        // SAFETY: the thread takes over the reference that is passed to it.
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

    /// Waits for the thread's end; to be called once, and only if the end is in sight.
    package func join() {
        pthread_join(thread, nil)
    }

    /// The same for a thread that may wait in a system call, and looks after each whether to end.
    package func joinInterrupting() {
        let error = linux_join_interrupting(thread)
        precondition(error == 0, "a thread that was not waited for can be")
    }

    /// Runs `body`, which may block, on a thread of its own and returns what it returns.
    ///
    /// Cannot be cancelled: `body` has to end by itself.
    ///
    /// - Throws: `SocketError.system` if there can be no more threads.
    @ServiceLoop
    package static func run<Result: Sendable>(
        named name: String,
        _ body: @escaping @Sendable () -> Result
    ) async throws(SocketError) -> Result {
        var thread: Swift.Result<WorkerThread, SocketError>?
        let result: Result? = await withCheckedContinuation { continuation in
            do throws(SocketError) {
                thread = .success(
                    try WorkerThread(named: name) { continuation.resume(returning: body()) }
                )
            } catch {
                thread = .failure(error)
                continuation.resume(returning: nil)
            }
        }
        // It has done its work and is about to end.
        try thread?.get().join()
        guard let result else { preconditionFailure("a thread that ran has a result") }
        return result
    }

    /// Stops the calling thread for a while; never for one that has anything else to do.
    package static func pause(milliseconds: Int32) {
        _ = poll(nil, 0, milliseconds)
    }

    /// The processors that this process may run on, at least 1.
    package static var processors: Int { Int(processors_allowed()) }

    /// What a thread is to do.
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
