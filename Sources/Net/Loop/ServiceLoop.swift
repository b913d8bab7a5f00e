// SPDX-License-Identifier: Apache-2.0
private import Glibc
private import Locks

/// Global actor of the service loop: see the page of the module.
///
/// Code on it must not block.
@globalActor
package actor ServiceLoop {
    /// The only instance; use the attribute `@ServiceLoop` instead.
    package static let shared = ServiceLoop()

    /// Executor that runs on the loop's thread.
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
    /// The first job starts it, too. A program calls this only if the thread must inherit the
    /// caller's signal mask or capabilities.
    package static func start() { LoopExecutor.shared.start() }

    /// Runs `body` as the whole program and returns its exit code after the thread has ended.
    ///
    /// To be called once, from the main thread, which then only waits. Tasks still running when
    /// `body` returns do not continue.
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
    /// Starts a task that runs, and resumes, on the loop's thread.
    ///
    /// With `Task { @ServiceLoop in … }` a resumed continuation first runs on the runtime's thread
    /// pool (Swift 6.3): two thread changes, 20 us. A task started here pays one turn of the loop,
    /// 1 us. Child tasks inherit the preference.
    @discardableResult
    package static func task<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }

    /// Starts a task on the loop's thread that can throw; see ``task(_:)``.
    package static func throwingTask<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }
}

// MARK: - Crossing over

extension ServiceLoop {
    /// Calls `body` as code isolated to the loop; traps on any other thread.
    ///
    /// For callbacks of C libraries: the compiler does not know their thread.
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

    /// Runs `body` on the loop: immediately if called on its thread, otherwise in a later turn.
    package static func post(_ body: @escaping @Sendable @ServiceLoop () -> Void) {
        if LoopExecutor.shared.isCurrent {
            assumeIsolated(body)
        } else {
            task { body() }
        }
    }
}
