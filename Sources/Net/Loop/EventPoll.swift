// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// Epoll instance of the service loop.
///
/// The kernel reports ready descriptors in turn (epoll_wait(2)), so no descriptor starves.
// SAFETY: used on the loop's thread only, except `init`. `events` is never freed. The data of an
// event is nil or points to a registered watch. When a watch ends, `drop` sets the data of its
// unread events to nil.
@safe
final class EventPoll: @unchecked Sendable {
    private static let capacity = 16

    let descriptor: Int32
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
    private var count = 0

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(descriptor >= 0, "cannot create an epoll instance: \(errorText(errno))")
    }

    /// Adds a descriptor; returns `errno`, or 0 for success.
    func add(_ descriptor: Int32, _ mask: UInt32, _ watch: DescriptorWatch?) -> Int32 {
        control(EPOLL_CTL_ADD, descriptor, mask, watch)
    }

    func change(_ descriptor: Int32, _ mask: UInt32, _ watch: DescriptorWatch) -> Int32 {
        drop(watch)
        return control(EPOLL_CTL_MOD, descriptor, mask, watch)
    }

    /// Stops the events of a registered descriptor until the next ``change(_:_:_:)``.
    ///
    /// The descriptor stays registered, because ``add(_:_:_:)`` could fail.
    func suspend(_ descriptor: Int32, _ watch: DescriptorWatch) -> Int32 {
        drop(watch)
        return control(EPOLL_CTL_MOD, descriptor, EPOLLET.rawValue, nil)
    }

    /// `watch` gets no further event, even if the last poll returned one.
    func remove(_ descriptor: Int32, _ watch: DescriptorWatch) {
        drop(watch)
        // Fails if the owner has already closed the descriptor.
        _ = control(EPOLL_CTL_DEL, descriptor, 0, watch)
    }

    private func control(
        _ operation: Int32,
        _ descriptor: Int32,
        _ mask: UInt32,
        _ watch: DescriptorWatch?
    ) -> Int32 {
        let data = unsafe epoll_data_t(ptr: watch.map { unsafe Self.address($0) })
        var event = unsafe epoll_event(events: mask, data: data)
        return unsafe epoll_ctl(self.descriptor, operation, descriptor, &event) == 0 ? 0 : errno
    }

    private func drop(_ watch: DescriptorWatch) {
        let address = unsafe Self.address(watch)
        for index in 0..<count where unsafe events[index].data.ptr == address {
            unsafe events[index].data.ptr = nil
        }
    }

    private static func address(_ watch: DescriptorWatch) -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passUnretained(watch).toOpaque()
    }

    /// If `waits` is true, blocks until a descriptor is ready; returns the number of events.
    func poll(waits: Bool) -> Int {
        let found = unsafe epoll_wait(descriptor, events, Int32(Self.capacity), waits ? -1 : 0)
        precondition(found >= 0 || errno == EINTR, "cannot poll: \(errorText(errno))")
        count = max(0, Int(found))
        return count
    }

    func dispatch() {
        for index in 0..<count {
            guard let data = unsafe events[index].data.ptr else { continue }
            let watch = unsafe Unmanaged<DescriptorWatch>.fromOpaque(data).takeUnretainedValue()
            unsafe watch.report(events[index].events)
        }
        count = 0
    }
}
