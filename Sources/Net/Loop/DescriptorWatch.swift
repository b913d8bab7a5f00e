// SPDX-License-Identifier: Apache-2.0
private import CSystemd

/// Watch of a file descriptor by the service loop.
///
/// Cancel the watch before closing the descriptor: the kernel may reuse the number.
// SAFETY: see `source`.
@safe
@ServiceLoop
final class DescriptorWatch {
    struct Events: OptionSet {
        let rawValue: UInt32

        static let readable = Events(rawValue: EPOLLIN.rawValue)
        static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// The peer has shut down its sending side.
        static let endOfInput = Events(rawValue: EPOLLRDHUP.rawValue)
        /// The connection is closed in both directions; always reported.
        static let hangUp = Events(rawValue: EPOLLHUP.rawValue)
        static let error = Events(rawValue: EPOLLERR.rawValue)
        /// Option: reports each event once (edge-triggered).
        static let edges = Events(rawValue: EPOLLET.rawValue)
    }

    // SAFETY: made in `init`, released once in `cancel`, used on the loop only.
    private var source: OpaquePointer?

    // SAFETY: isolated to the loop; only `report` calls the handler, after a thread check.
    // Converted once, because each conversion allocates.
    fileprivate nonisolated(unsafe) let handler: (Events) -> Void

    /// Watches `descriptor` until cancelled or released; throws if memory or epoll watches run out.
    init(
        _ descriptor: Int32,
        _ events: Events,
        handler: @escaping @ServiceLoop (Events) -> Void
    ) throws(SocketError) {
        unsafe self.handler = unsafeBitCast(handler, to: ((Events) -> Void).self)
        unsafe source = nil
        // SAFETY: `report` calls the handler on the loop only. `cancel` ends all callbacks; a
        // running callback retains the object.
        let status = unsafe sd_event_add_io(
            LoopExecutor.shared.event,
            &source,
            descriptor,
            events.rawValue,
            report,
            Unmanaged.passUnretained(self).toOpaque()
        )
        guard status >= 0 else { throw .system(call: "epoll_ctl", code: -status) }
    }

    func change(to events: Events) {
        guard let source = unsafe source else { return }
        let status = unsafe sd_event_source_set_io_events(source, events.rawValue)
        precondition(status >= 0, "cannot watch a descriptor: \(errorText(-status))")
    }

    func suspend(_ isSuspended: Bool) {
        let status = enable(!isSuspended)
        precondition(status >= 0, "cannot watch a descriptor: \(errorText(-status))")
    }

    /// Continues a suspended watch with another descriptor.
    func resume(on descriptor: Int32) throws(SocketError) {
        var status = unsafe sd_event_source_set_io_fd(source, descriptor)
        if status >= 0 { status = enable(true) }
        guard status >= 0 else { throw .system(call: "epoll_ctl", code: -status) }
    }

    private func enable(_ isEnabled: Bool) -> Int32 {
        unsafe sd_event_source_set_enabled(
            source,
            Int32(isEnabled ? SD_EVENT_ON : SD_EVENT_OFF)
        )
    }

    func cancel() {
        unsafe sd_event_source_disable_unref(source)
        unsafe source = nil
    }

    isolated deinit { cancel() }
}

/// Callback of sd-event.
///
/// A closure would cost an isolation check (Swift 6.3) and an allocation per event.
private func report(
    _: OpaquePointer?,
    _: Int32,
    _ reported: UInt32,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let data = unsafe data else { return 0 }
    LoopExecutor.shared.checkIsolated()
    // SAFETY: `data` is the watch that added this source; the thread is checked.
    let watch = unsafe Unmanaged<DescriptorWatch>.fromOpaque(data).takeUnretainedValue()
    unsafe watch.handler(DescriptorWatch.Events(rawValue: reported))
    return 0
}
