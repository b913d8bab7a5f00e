// SPDX-License-Identifier: Apache-2.0
public import Glibc

// SAFETY: both pointers live from `init` to `deinit`; the value is accessed only with the mutex
// held.
/// Value protected by a pthread mutex.
///
/// A waiting thread polls for about 1 µs before it sleeps.
///
/// Replaces `Synchronization.Mutex`, which has three disadvantages:
///
/// - If threads sleep, the Linux kernel gives the mutex to one of them, so that polling threads do
///   not get the mutex (swiftlang/swift#88440).
/// - `withLock` accepts no closure that is a parameter of the calling function.
/// - ThreadSanitizer does not recognize the mutex.
///
/// Public, because Swift 6.3 inlines no `package` function into another module.
@safe
public final class Lock<Value: ~Copyable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Creates a lock that protects `initial`.
    public init(_ initial: consuming sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initial)
    }

    /// Calls `body` with exclusive access; `body` must not block, and must not use this lock.
    @inlinable
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
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
