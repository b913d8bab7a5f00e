// SPDX-License-Identifier: Apache-2.0
private import Glibc
private import Locks

/// Global actor of the service loop; its code must not block.
@globalActor
public actor ServiceLoop {
    /// The only instance.
    public static let shared = ServiceLoop()

    /// Executor of the loop's thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the executor is global and never freed.
        unsafe LoopExecutor.shared.asUnownedSerialExecutor()
    }

    private init() {}
}

// MARK: - Life

extension ServiceLoop {
    /// Starts the thread, which inherits the caller's signal mask and capabilities.
    package static func start() { LoopExecutor.shared.start() }

    /// Runs `body` as the whole program and returns its exit code.
    ///
    /// Call this once, from the main thread. When `body` has returned, no other task continues.
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
    /// Starts a task on the loop's thread; child tasks also run on that thread.
    ///
    /// `Task { @ServiceLoop in … }` would need two thread changes (Swift 6.3).
    @discardableResult
    package static func task<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }

    package static func throwingTask<Success: Sendable>(
        _ body: sending @escaping @ServiceLoop () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: LoopTaskExecutor.shared, operation: body)
    }
}

// MARK: - Crossing over

extension ServiceLoop {
    /// Calls `body` isolated to the loop, for C callbacks; traps on any other thread.
    package static func assumeIsolated<Result: Sendable>(
        _ body: @ServiceLoop () throws -> Result
    ) rethrows -> Result {
        LoopExecutor.shared.checkIsolated()
        return try withoutActuallyEscaping(body) { body in
            // SAFETY: the types differ in isolation only, which is checked above.
            let open = unsafe unsafeBitCast(body, to: (() throws -> Result).self)
            return try open()
        }
    }

    /// Runs `body` on the loop: immediately if called there, otherwise in a later iteration.
    package static func post(_ body: @escaping @Sendable @ServiceLoop () -> Void) {
        if LoopExecutor.shared.isCurrent {
            assumeIsolated(body)
        } else {
            task { body() }
        }
    }
}
