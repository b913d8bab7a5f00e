// SPDX-License-Identifier: Apache-2.0

/// Processor time of the service loop that a provider may use without sending replies: a leaky
/// bucket.
///
/// A server can send frames without end that belong to no reply, such as empty DATA frames (RFC
/// 9113 §10.5), or a reply in frames of one octet. If the bucket is full, the provider is out of
/// service until half of the bucket is empty. A reply earns more time than libcurl needs for it,
/// so that an honest provider never fills the bucket.
struct LoopBudget {
    /// Capacity of the bucket, and the most that replies can earn in advance.
    static let capacity: Duration = .milliseconds(50)

    /// The bucket empties by 1/10 of the time that passes.
    static let leak = 10

    /// Time earned by each octet of a header line or body, and by each ended transfer.
    ///
    /// A usual reply takes 0.1 ms. With hundreds of transfers on a connection, libcurl checks every
    /// transfer at each event, which takes up to 1 ms.
    static let perOctet: Duration = .nanoseconds(100)
    static let perTransfer: Duration = .milliseconds(2)

    /// Time in the bucket at `updated`; negative if replies have earned time in advance.
    private var level: Duration = .zero
    private var updated: Instant

    /// True from the overflow until the bucket is half empty.
    private(set) var isExhausted = false

    init(at now: Instant) { updated = now }

    /// Updates the state to `now`; returns true if the provider is in service.
    mutating func isAvailable(at now: Instant) -> Bool {
        level = max(min(level, .zero), level - updated.duration(to: now) / Self.leak)
        updated = now
        if level <= Self.capacity / 2 { isExhausted = false }
        return !isExhausted
    }

    /// Returns true if `time`, used for `octets` since the last charge, overflows the bucket.
    func overflows(_ time: Duration, octets: Int) -> Bool {
        level + time - Self.perOctet * octets > Self.capacity
    }

    /// Adds the processor time of one call of libcurl, less what the replies earn.
    mutating func charge(_ time: Duration, octets: Int, transfers: Int, at now: Instant) {
        _ = isAvailable(at: now)
        let earned = Self.perOctet * octets + Self.perTransfer * transfers
        level = min(max(level + time - earned, .zero - Self.capacity), Self.capacity)
        if level >= Self.capacity { isExhausted = true }
    }
}

/// Measures the processor time that libcurl uses to read what a provider sends.
///
/// TLS handshakes are not counted: they are bounded, and on a slow processor they take longer than
/// the budget.
///
/// Not isolated, because C calls it for every header line and TLS record, on the service loop.
final class LoopMeter {
    private(set) var budget = LoopBudget(at: Clock.now)

    /// Thread time at which the current call of libcurl began to read; nil if it has read nothing.
    private var start: Duration?

    /// Octets of header lines and bodies that the current call of libcurl has delivered.
    private var octets = 0

    /// True if the current call was told to stop reading.
    private var isStopped = false

    var isAvailable: Bool { budget.isAvailable(at: Clock.now) }

    /// Starts the measurement of a call of libcurl.
    ///
    /// - Parameter reads: true if the call may read without calling ``noteRecord()``.
    func begin(reads: Bool) {
        _ = isAvailable
        (octets, isStopped) = (0, false)
        start = reads ? Clock.threadTime : nil
    }

    func gain(_ octets: Int) { self.octets += octets }

    /// Records that a TLS record arrives after the handshake; returns false if the connection must
    /// be ended.
    func noteRecord() -> Bool {
        guard let start else {
            start = Clock.threadTime
            return true
        }
        if budget.overflows(Clock.threadTime - start, octets: octets) { isStopped = true }
        return !isStopped
    }

    /// Returns the processor time that the call of libcurl has used for reading.
    func end() -> Duration {
        guard let start else { return .zero }
        self.start = nil
        return isStopped ? LoopBudget.capacity : Clock.threadTime - start
    }

    /// Charges a call of libcurl that used `time` and ended `transfers`.
    func charge(_ time: Duration, transfers: Int) {
        guard time > .zero else { return }
        budget.charge(
            time,
            octets: isStopped ? 0 : octets,
            transfers: isStopped ? 0 : transfers,
            at: Clock.now
        )
    }
}
