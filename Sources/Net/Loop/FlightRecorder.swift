// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Locks

/// Last 2,048 log lines of all levels, up to 252 octets each, for a crash handler; callable from
/// any thread.
// SAFETY: the pointer never changes, and its memory is used with the lock held only, except by the
// crash handler, which writes out whatever the memory holds.
@safe
package final class FlightRecorder: Sendable {
    // SAFETY: as above.
    private nonisolated(unsafe) let ring: OpaquePointer
    private let lock = Lock(())

    package struct Line: Sendable, Equatable {
        /// Text of the line without its line break.
        package let text: String

        /// True if the log shows the line too.
        package let isShown: Bool
    }

    package init() {
        guard let ring = unsafe recorder_new() else {
            preconditionFailure("cannot allocate 512 KiB for the flight recorder")
        }
        unsafe self.ring = ring
    }

    deinit { unsafe recorder_free(ring) }

    /// Records a line; if the recorder is full, the line replaces the oldest one.
    package func note(_ line: String, isShown: Bool) {
        var line = line
        lock.withLock { _ in
            // SAFETY: the octets live during the call.
            line.withUTF8 {
                unsafe recorder_note(ring, $0.baseAddress, $0.count, isShown ? 1 : 0)
            }
        }
    }

    /// Recorded lines, oldest first.
    package var lines: [Line] {
        lock.withLock { _ in
            // SAFETY: the lock is held, so each line is copied before the next one is recorded.
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

    /// Makes a crash write the lines to standard error; call it for one recorder per process.
    package func writeAtCrash() { unsafe recorder_write_at_crash(ring) }
}
