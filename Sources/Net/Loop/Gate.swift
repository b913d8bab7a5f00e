// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// Gate that blocks threads until it is opened; it stays open, except after ``close(after:)``.
package final class Gate: Sendable {
    private let descriptor: OwnedDescriptor

    /// Creates a closed gate.
    package init() throws(SocketError) {
        descriptor = try OwnedDescriptor(linux_eventfd(), from: "eventfd")
    }

    package func open() { _ = linux_eventfd_signal(descriptor.raw) }

    /// Blocks the calling thread, which must have no other work, until the gate is open.
    package func wait() {
        var event = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        // SAFETY: one pollfd is written.
        while unsafe poll(&event, 1, -1) < 1 {}
    }

    /// Blocks the calling thread until the gate opens, at most for `time`; then closes the gate.
    ///
    /// A signal can end the wait early.
    func close(after time: Duration?) {
        var event = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        var count: UInt64 = 0
        // SAFETY: one pollfd and eight octets are written.
        unsafe poll(&event, 1, time.map { Int32($0.millisecondsRoundedUp) } ?? -1)
        _ = unsafe read(descriptor.raw, &count, MemoryLayout<UInt64>.size)
    }
}
