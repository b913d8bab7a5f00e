// SPDX-License-Identifier: Apache-2.0
private import Glibc
private import Locks

/// The one thread on which everything that waits is written as ordinary `async` code.
///
/// What is marked `@ServiceLoop` runs on it, and the compiler sees to that.  There is no lock
/// around such state because there is no second thread.  Nothing on it may block.
@globalActor
package actor ServiceLoop {
    /// The only instance; use the attribute `@ServiceLoop` rather than this.
    package static let shared = ServiceLoop()

    /// The thread's executor.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the executor is a global and never freed.
        unsafe LoopExecutor.shared.asUnownedSerialExecutor()
    }

    private init() {}
}

// MARK: - Life

extension ServiceLoop {
    /// Starts the thread; later calls do nothing.
    ///
    /// Ignores SIGPIPE for the whole process: a peer that hangs up is an error of the call that
    /// writes to it.
    package static func start() {
        signal(SIGPIPE, SIG_IGN)
        LoopExecutor.shared.start()
    }

    /// Runs a whole program on the loop and returns its exit code once the thread has ended.
    ///
    /// To be called once, from the main thread, which then only waits.  Tasks that `body` leaves
    /// behind are not run any further.
    package static func run(_ body: @escaping @Sendable @ServiceLoop () async -> Int32) -> Int32 {
        let code = Lock<Int32>(0)
        start()
        task {
            let result = await body()
            code.withLock { $0 = result }
            LoopExecutor.shared.stop()
        }
        LoopExecutor.shared.join()
        return code.withLock { $0 }
    }
}

// MARK: - Tasks

extension ServiceLoop {
    /// Begins a task of the loop: `Task { @ServiceLoop in … }`, but one that stays there.
    ///
    /// A continuation that is resumed queues its task for the task's preferred executor, else for
    /// the runtime's pool of threads (Swift 6.3), which only then hands it to the actor: two
    /// changes of threads and some 20 us, where a task begun here pays one turn of the loop, 1 us.
    /// Child tasks inherit the preference.
    @discardableResult
    package static func task<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }

    /// Begins a task of the loop that can throw; see ``task(_:)``.
    package static func throwingTask<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }
}

// MARK: - Crossing over

extension ServiceLoop {
    /// Calls `body` at once, as code of the loop; traps on any other thread.
    ///
    /// For the callbacks of C libraries, which come on the loop's thread without the compiler's
    /// knowing.
    package static func assumeIsolated<Result: Sendable>(
        _ body: @ServiceLoop () throws -> Result
    ) rethrows -> Result {
        LoopExecutor.shared.checkIsolated()
        return try withoutActuallyEscaping(body) { body in
            // SAFETY: the two types differ in isolation only, which was checked in the line above;
            // `MainActor.assumeIsolated` does the same.
            let open = unsafe unsafeBitCast(body, to: (() throws -> Result).self)
            return try open()
        }
    }

    /// Runs `body` on the loop: at once if this is its thread, else soon.
    package static func post(_ body: @escaping @Sendable @ServiceLoop () -> Void) {
        if LoopExecutor.shared.isCurrent {
            assumeIsolated(body)
        } else {
            task { body() }
        }
    }
}
