// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Logging
internal import Net

/// Thread that writes the log, because a write can block without limit, as on a failed disk.
///
/// Entries that exceed the limits of the queue are dropped and counted.
struct LogWriter: Sendable {
    /// Maximum number of queued entries, in addition to up to 4,096 entries that are being written.
    static let entryLimit = 4_096
    static let octetLimit = 1 << 20
    static let flushTime: Duration = .milliseconds(500)
    private let queue: BackgroundQueue<(entry: LogEntry, format: LogFormat)>

    /// Starts the thread; throws if the system has no free descriptor or thread.
    init(to destination: LogDestination) throws(SocketError) {
        queue = try BackgroundQueue(
            named: "log",
            itemLimit: Self.entryLimit,
            octetLimit: Self.octetLimit
        ) { items, dropped in
            for item in items { _ = destination.put(item.entry, item.format) }
            guard dropped > 0 else { return }
            let text = "log: \(dropped) lines were dropped, because the log reader was too slow"
            _ = destination.put(
                LogEntry(level: .warning, message: text),
                items.last?.format ?? .text
            )
        }
    }

    /// Returns false if the entry was dropped.
    func add(_ entry: LogEntry, _ format: LogFormat) -> Bool {
        let octets = entry.fields.reduce(entry.message.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        return queue.add((entry, format), octets: octets)
    }

    func flush() { queue.flush(within: Self.flushTime) }
}
