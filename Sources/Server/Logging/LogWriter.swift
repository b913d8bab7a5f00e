// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net

/// Writes log entries on a thread of its own.
///
/// Standard error may be a pipe or a journal whose reader has stopped, or a file on a disk that does
/// not answer: then a write blocks for ever.  Entries beyond the limits are dropped, and their number is
/// logged when the reader goes on.
struct LogWriter: Sendable {
    /// Entries that wait for the reader, and their octets; about as much may be with the thread.
    static let entryLimit = 4_096
    static let octetLimit = 1 << 20

    /// The longest wait for the reader at the end of the process.
    static let flushTime: Duration = .milliseconds(500)

    private let queue: BackgroundQueue<(entry: LogEntry, format: LogFormat)>

    /// Starts the thread.
    ///
    /// - Throws: `SocketError.system`: no descriptor or thread left.
    init(to outlet: LogOutlet) throws(SocketError) {
        queue = try BackgroundQueue(
            named: "log",
            itemLimit: Self.entryLimit,
            octetLimit: Self.octetLimit
        ) { items, dropped in
            for item in items { outlet.put(item.entry, item.format) }
            guard dropped > 0 else { return }
            let text = "log: \(dropped) lines were dropped, as the reader of the log was too slow"
            outlet.put(LogEntry(level: .warning, message: text), items.last?.format ?? .text)
        }
    }

    /// Adds an entry, or drops it if the reader is too slow.
    func add(_ entry: LogEntry, _ format: LogFormat) {
        let octets = entry.fields.reduce(entry.message.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        queue.add((entry, format), octets: octets)
    }

    /// Waits until everything is written, but not longer than `flushTime`.
    func flush() { queue.flush(within: Self.flushTime) }
}
