// SPDX-License-Identifier: Apache-2.0
private import CSystemd

/// Watch of a file descriptor by the service loop.
///
/// Cancel the watch before closing the descriptor, because the kernel may reuse the descriptor.
// SAFETY: see `handler`.
@safe
@ServiceLoop
final class DescriptorWatch {
    struct Events: OptionSet {
        let rawValue: UInt32

        static let readable = Events(rawValue: EPOLLIN.rawValue)
        static let writable = Events(rawValue: EPOLLOUT.rawValue)
        static let endOfInput = Events(rawValue: EPOLLRDHUP.rawValue)
        /// The connection is closed in both directions; always reported.
        static let hangUp = Events(rawValue: EPOLLHUP.rawValue)
        static let error = Events(rawValue: EPOLLERR.rawValue)
        static let edges = Events(rawValue: EPOLLET.rawValue)
    }

    private var descriptor: Int32
    private var events: Events

    private var isActive = false

    private var isSuspended = false

    // SAFETY: isolated to the loop; only `report` calls the handler, after a thread check.
    // The isolation is removed once, because each conversion of the closure allocates memory.
    private nonisolated(unsafe) let handler: (Events) -> Void

    /// Begins to watch; throws if memory or epoll watches run out.
    init(
        _ descriptor: Int32,
        _ events: Events,
        handler: @escaping @ServiceLoop (Events) -> Void
    ) throws(SocketError) {
        unsafe self.handler = unsafeBitCast(handler, to: ((Events) -> Void).self)
        self.descriptor = descriptor
        self.events = events
        try check(activate())
    }

    func change(to events: Events) {
        self.events = events
        guard isActive, !isSuspended else { return }
        require(LoopExecutor.shared.poller.change(descriptor, events.rawValue, self))
    }

    /// Suspends the watch, or continues it; cannot fail, unlike ``resume(on:)``.
    func suspend(_ isSuspended: Bool) {
        guard isActive, isSuspended != self.isSuspended else { return }
        self.isSuspended = isSuspended
        let poller = LoopExecutor.shared.poller
        require(
            isSuspended
                ? poller.suspend(descriptor, self)
                : poller.change(descriptor, events.rawValue, self)
        )
    }

    /// Continues a cancelled watch with another descriptor.
    func resume(on descriptor: Int32) throws(SocketError) {
        deactivate()
        self.descriptor = descriptor
        try check(activate())
    }

    /// Ends the watch, without another call of the handler.
    func cancel() {
        deactivate()
        descriptor = -1
    }

    isolated deinit { deactivate() }

    private func activate() -> Int32 {
        guard !isActive else { return 0 }
        let error = LoopExecutor.shared.poller.add(descriptor, events.rawValue, self)
        (isActive, isSuspended) = (error == 0, false)
        return error
    }

    private func deactivate() {
        guard isActive else { return }
        isActive = false
        LoopExecutor.shared.poller.remove(descriptor, self)
    }

    private func check(_ error: Int32) throws(SocketError) {
        guard error == 0 else { throw .system(call: "epoll_ctl", code: error) }
    }

    /// The owner must not close the descriptor before the watch ends.
    private func require(_ error: Int32) {
        precondition(error == 0, "cannot watch a descriptor: \(errorText(error))")
    }

    /// Nonisolated, because `assumeIsolated` would cost a check and an allocation per event (Swift
    /// 6.3).
    nonisolated func report(_ events: UInt32) {
        LoopExecutor.shared.checkIsolated()
        unsafe handler(Events(rawValue: events))
    }
}
