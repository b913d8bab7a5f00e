// SPDX-License-Identifier: Apache-2.0

/// Work for the end of a loop iteration, such as datagrams to send.
@ServiceLoop
package protocol TurnBatch: AnyObject {
    func flush()
}

extension ServiceLoop {
    /// Flushes `batch` once, at the end of this or the next iteration.
    static func flushLater(_ batch: any TurnBatch) { LoopExecutor.shared.flushLater(batch) }
}
