// SPDX-License-Identifier: Apache-2.0

/// Work that is collected during a turn of the service loop and then done together.
///
/// Example: datagrams that leave with one `sendmmsg`.
@ServiceLoop
package protocol TurnBatch: AnyObject {
    /// Does the collected work; may collect more.
    func flush()
}

extension ServiceLoop {
    /// Flushes `batch` once, at the end of the current or the next turn of the loop.
    static func flushLater(_ batch: any TurnBatch) { LoopExecutor.shared.flushLater(batch) }
}
