// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// A value behind a pthread mutex.
///
/// Not `Synchronization.Mutex`: that takes four times as long when nobody waits (17 ns, 4 ns), spins
/// when somebody does (swiftlang/swift#88440), and ThreadSanitizer does not see it.
// SAFETY: both pointers are allocated in `init` and freed in `deinit`; the value is touched while
// the mutex is held only.
@safe
final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    init(_ initial: sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initial)
    }

    /// Calls `body` with the value while nobody else can; `body` must not block or lock again.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe body(&value.pointee)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
    }
}
