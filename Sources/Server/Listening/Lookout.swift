// SPDX-License-Identifier: Apache-2.0

/// Whether a worker that has nothing to do looks again for a while before it sleeps.
///
/// To wake a worker costs the asker more time than the answer does: of a look-up's 20 µs on loopback
/// some 14.  So where the next query has come soon for a while, a worker stays awake for it, which
/// also spares the processor the work of putting it to sleep.  A value without a clock.
///
/// It may burn little.  A look in vain costs `time`, and takes back what `price` queries that came
/// soon have earned: 5 µs for each of those at most, and nothing where queries come now and then.
/// Where looks are always in vain, as when asker and worker share a processor, each time twice as
/// much has to be earned, up to `needs.most`.
struct Lookout {
    /// How long it is looked: somewhat more than an asker takes to wake up and ask again.
    static let time: Duration = .microseconds(20)

    /// What a wait is shorter than that would have been shorter than `time`, had the worker not had
    /// to be woken.
    static let soon: Duration = .microseconds(40)

    /// What a look in vain takes back.
    private static let price = 4

    /// What somebody who is awake has at most.
    private static let full = 8

    /// What has to be earned for being awake: at first, and at most.
    private static let needs = (least: 8, most: 4096)

    /// Whether it is worth while to look.
    private(set) var isAwake = false

    private var credit = 0
    private var need = Lookout.needs.least

    /// Notes how long the worker waited for its last datagrams: asleep, or looking, or both.
    mutating func note(wait: Duration) {
        if !isAwake {
            credit = wait < Self.soon ? credit + 1 : max(0, credit - Self.price)
            guard credit >= need else { return }
            isAwake = true
            credit = Self.full
        } else if wait < Self.time {
            credit = min(credit + 1, Self.full)
            if credit == Self.full { need = Self.needs.least }
        } else {
            credit -= Self.price
            guard credit < Self.price else { return }
            isAwake = false
            credit = 0
            need = min(2 * need, Self.needs.most)
        }
    }
}
