// SPDX-License-Identifier: Apache-2.0

/// Work collected during turns of the service loop and done together, such as one `sendmmsg`.
@ServiceLoop
package protocol TurnBatch: AnyObject {
    /// Does the collected work; may collect more.
    func flush()
}

extension ServiceLoop {
    /// Flushes `batch` once, at the end of the current turn or of the next.
    static func flushLater(_ batch: any TurnBatch) { LoopExecutor.shared.flushLater(batch) }
}
