// SPDX-License-Identifier: Apache-2.0

/// Work collected for the end of an iteration of the event loop, such as datagrams to send.
@ServiceLoop
package protocol TurnBatch: AnyObject {
    /// Does the collected work; may collect more.
    func flush()
}

extension ServiceLoop {
    /// Flushes `batch` once, at the end of this or the next iteration.
    static func flushLater(_ batch: any TurnBatch) { LoopExecutor.shared.flushLater(batch) }
}
