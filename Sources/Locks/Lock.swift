// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A value behind a pthread mutex.
///
/// Not `Synchronization.Mutex`: that spins when somebody waits (swiftlang/swift#88440), cannot lend
/// its value to a closure that came from elsewhere, and ThreadSanitizer does not see it.
///
/// `withLock` is inlinable because it is generic and on the way of every batch of queries.
// SAFETY: both pointers are allocated in `init` and freed in `deinit`; the value is touched while
// the mutex is held only.
@safe
package final class Lock<Value: ~Copyable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Puts a value behind a mutex of its own.
    package init(_ initial: consuming sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initial)
    }

    /// Calls `body` with the value while nobody else can; `body` must not block or lock again.
    @inlinable
    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
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
