// SPDX-License-Identifier: Apache-2.0
import Locks
package import Logging

package final class LogRecorder: Sendable {
    private let lines = Lock<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package var logger: Logger { Logger(label: "test") { [self] _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.lines.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}
