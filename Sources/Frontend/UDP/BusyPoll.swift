// SPDX-License-Identifier: Apache-2.0

/// Adaptive busy polling: an idle worker polls its socket for a short time before it sleeps.
///
/// Waking a worker takes most of the time of a loopback query. A query is quick if it arrives soon
/// after the previous query. A credit limits the polls without a result (20 µs each) to one for
/// every 4 quick queries:
///
/// - Each quick query adds 1 to the credit.
/// - Each poll without a result subtracts 4 (`price`).
/// - While polling is off, each query that is not quick also subtracts 4.
///
/// Polling starts when the credit reaches `need`, and stops below `price`. Each stop doubles
/// `need`.
struct BusyPoll {
    /// Slightly longer than a client needs to wake up and send a query.
    static let time: Duration = .microseconds(20)

    /// `time` plus the time to wake a worker.
    static let soon: Duration = .microseconds(40)

    private static let price = 4

    private static let full = 8

    private static let needs = (least: 8, most: 4096)

    private(set) var isSpinning = false

    private var credit = 0
    private var need = BusyPoll.needs.least

    /// Records how long the worker polled and slept.
    mutating func note(wait: Duration) {
        if !isSpinning {
            credit = wait < Self.soon ? credit + 1 : max(0, credit - Self.price)
            guard credit >= need else { return }
            isSpinning = true
            credit = Self.full
        } else if wait < Self.time {
            credit = min(credit + 1, Self.full)
            if credit == Self.full { need = Self.needs.least }
        } else {
            credit -= Self.price
            guard credit < Self.price else { return }
            isSpinning = false
            credit = 0
            need = min(2 * need, Self.needs.most)
        }
    }
}
