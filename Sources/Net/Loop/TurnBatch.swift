// SPDX-License-Identifier: Apache-2.0

/// Work collected during an iteration of the event loop and then done together.
///
/// Example: datagrams that leave with one `sendmmsg`.
@ServiceLoop
package protocol TurnBatch: AnyObject {
    /// Does the collected work; may collect more.
    func flush()
}

extension ServiceLoop {
    /// Flushes `batch` once, at the end of the current or the next iteration.
    static func flushLater(_ batch: any TurnBatch) { LoopExecutor.shared.flushLater(batch) }
}
