// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Locks

/// Last 2,048 log lines of all levels, up to 252 octets each, for a crash handler; thread-safe.
// SAFETY: the pointer never changes. The lock guards the memory of the ring. Only the crash handler
// reads the ring without the lock, and accepts any content.
@safe
package final class FlightRecorder: Sendable {
    private nonisolated(unsafe) let ring: OpaquePointer
    private let lock = Lock(())

    package struct Line: Sendable, Equatable {
        package let text: String

        /// True if the line was also written to the log.
        package let isShown: Bool
    }

    package init() {
        guard let ring = unsafe recorder_new() else {
            preconditionFailure("cannot allocate 512 KiB for the flight recorder")
        }
        unsafe self.ring = ring
    }

    deinit { unsafe recorder_free(ring) }

    package func note(_ line: String, isShown: Bool) {
        var line = line
        lock.withLock { _ in
            line.withUTF8 {
                unsafe recorder_note(ring, $0.baseAddress, $0.count, isShown ? 1 : 0)
            }
        }
    }

    package var lines: [Line] {
        lock.withLock { _ in
            unsafe (0..<recorder_count(ring)).map { number in
                var text: UnsafePointer<CChar>?
                var shown: Int32 = 0
                let count = unsafe recorder_line(ring, number, &text, &shown)
                let octets = unsafe UnsafeRawBufferPointer(start: text, count: count)
                return unsafe Line(
                    text: String(decoding: octets, as: UTF8.self),
                    isShown: shown != 0
                )
            }
        }
    }

    /// Makes a crash write the lines to standard error.
    ///
    /// Call this for only one recorder in a process.
    package func writeAtCrash() { unsafe recorder_write_at_crash(ring) }
}
