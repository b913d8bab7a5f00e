// SPDX-License-Identifier: Apache-2.0
private import CSystemd

/// A file descriptor that the loop watches; owns the sd-event source, not the descriptor.
///
/// Must be gone before the descriptor is closed, or its number could name another file meanwhile.
// SAFETY: the one unsafe thing stored is the source, see there.
@safe
@ServiceLoop
final class DescriptorWatch {
    /// What epoll can report and be asked for.
    struct Events: OptionSet {
        let rawValue: UInt32

        static let readable = Events(rawValue: EPOLLIN.rawValue)
        static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// The peer will send no more.
        static let endOfInput = Events(rawValue: EPOLLRDHUP.rawValue)
        /// Always reported, asked for or not.
        static let hangUp = Events(rawValue: EPOLLHUP.rawValue)
        /// Always reported, asked for or not.
        static let error = Events(rawValue: EPOLLERR.rawValue)
        /// Report changes only.
        static let edges = Events(rawValue: EPOLLET.rawValue)
    }

    /// The sd-event source, nil once cancelled.
    // SAFETY: made in `init`, released once in `cancel`, used on the loop only.
    private var source: OpaquePointer?

    /// Called with what is reported.
    // SAFETY: the loop's, called by `report` only, which checks that it is on the loop; converted
    // once, as each conversion allocates.
    fileprivate nonisolated(unsafe) let handler: (Events) -> Void

    /// Watches `descriptor` for `events` until cancelled or released.
    ///
    /// - Throws: `SocketError.system`: sd-event is out of memory, or epoll of watches.
    init(
        _ descriptor: Int32,
        _ events: Events,
        handler: @escaping @ServiceLoop (Events) -> Void
    ) throws(SocketError) {
        // SAFETY: see there.
        unsafe self.handler = unsafeBitCast(handler, to: ((Events) -> Void).self)
        unsafe source = nil
        // SAFETY: `cancel`, at the latest in `deinit`, ends all callbacks before this object goes;
        // the callback holds it while it runs.
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

    /// Asks for other events from now on.
    func change(to events: Events) {
        guard let source = unsafe source else { return }
        let status = unsafe sd_event_source_set_io_events(source, events.rawValue)
        precondition(status >= 0, "cannot watch a descriptor: \(errorText(-status))")
    }

    /// Ends all reports; needed before the descriptor is closed.
    func cancel() {
        // SAFETY: the source is released exactly once.
        unsafe sd_event_source_disable_unref(source)
        unsafe source = nil
    }

    isolated deinit { cancel() }
}

/// What sd-event calls.
///
/// Neither a closure of the watch nor with one in it: the first would be the loop's, and the runtime
/// would ask itself what code of C is isolated to; the second would be allocated.  Both cost every
/// event (Swift 6.3).
private func report(
    _: OpaquePointer?,
    _: Int32,
    _ reported: UInt32,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let data = unsafe data else { return 0 }
    LoopExecutor.shared.checkIsolated()
    // SAFETY: `data` is the watch that added this source, which is alive, see there; that this is
    // the loop was checked in the line above.
    let watch = unsafe Unmanaged<DescriptorWatch>.fromOpaque(data).takeUnretainedValue()
    unsafe watch.handler(DescriptorWatch.Events(rawValue: reported))
    return 0
}
