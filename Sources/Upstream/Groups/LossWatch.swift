// SPDX-License-Identifier: Apache-2.0
package import Net

/// Decision of whether a server lost a query, after the server has answered a repetition.
///
/// The query was not lost if its own reply arrives soon after the reply to the repetition: then the
/// queried name is slow. Latencies alone cannot show a loss, because clients can query slow names.
@ServiceLoop
package final class LossWatch {
    private var isLost: Bool?
    private var action: (@ServiceLoop (Bool) -> Void)?

    /// - Parameter isLost: nil while the decision is open.
    package init(isLost: Bool? = nil) { self.isLost = isLost }

    /// Sets the action that receives the decision, possibly before `whenKnown` returns.
    package func whenKnown(_ action: @escaping @ServiceLoop (_ isLost: Bool) -> Void) {
        if let isLost { action(isLost) } else { self.action = action }
    }

    func decide(isLost: Bool) {
        self.isLost = isLost
        action.take()?(isLost)
    }
}
