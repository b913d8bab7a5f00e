// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Locks

/// The last lines of a log, also those that nobody was shown, in memory that a crash writes out.
///
/// From any thread.  2,048 lines are kept, and 252 octets of each.
// SAFETY: the pointer never changes, and what it points at is used with the lock held only, but for
// the crash, which reads what it finds.
@safe
package final class FlightRecorder: Sendable {
    // SAFETY: as above.
    private nonisolated(unsafe) let ring: OpaquePointer
    private let lock = Lock(())

    /// A line that was kept.
    package struct Line: Sendable, Equatable {
        /// The line, without its end.
        package let text: String

        /// Whether it was logged, too.
        package let isShown: Bool
    }

    /// A recorder without lines.
    package init() {
        guard let ring = unsafe recorder_new() else {
            preconditionFailure("no memory for half a megabyte")
        }
        unsafe self.ring = ring
    }

    deinit { unsafe recorder_free(ring) }

    /// Keeps a line, in the place of the oldest one.
    package func note(_ line: String, isShown: Bool) {
        var line = line
        lock.withLock { _ in
            // SAFETY: the octets live during the call.
            line.withUTF8 {
                unsafe recorder_note(ring, $0.baseAddress, $0.count, isShown ? 1 : 0)
            }
        }
    }

    /// The lines that are kept, the oldest first.
    package var lines: [Line] {
        lock.withLock { _ in
            // SAFETY: each line is copied before the next note, as the lock is held.
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

    /// Has the lines written to standard error if the process crashes; for one recorder only.
    package func writeAtCrash() { unsafe recorder_write_at_crash(ring) }
}
