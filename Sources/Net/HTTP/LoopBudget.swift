// SPDX-License-Identifier: Apache-2.0

/// Processor time of the service loop that a provider may use without sending replies: a leaky
/// bucket.
///
/// A server can send frames without end that belong to no reply, such as empty DATA frames (RFC
/// 9113 §10.5), or a reply in frames of one octet. If one call of libcurl overflows an empty bucket,
/// the connections are ended, and the provider is out of service until half of the bucket is empty.
/// If many calls fill the bucket, the provider is throttled: its sockets are not read until a tenth
/// of the bucket is empty. Reading them less often is also cheaper. A reply earns more time than
/// libcurl needs for it, so that an honest provider is seldom throttled.
struct LoopBudget {
    /// Capacity of the bucket, and the most that replies can earn in advance.
    static let capacity: Duration = .milliseconds(50)

    /// Level at which a throttled provider is read again: after 50 ms or more.
    static let resumptionLevel: Duration = .milliseconds(45)

    /// The bucket empties by 1/10 of the time that passes.
    static let leak = 10

    /// Time earned by each octet of a header line or body, and by each ended transfer.
    ///
    /// A usual reply takes 0.1 ms. With hundreds of transfers on a connection, libcurl checks every
    /// transfer at each event, which takes up to 1 ms.
    static let perOctet: Duration = .nanoseconds(100)
    static let perTransfer: Duration = .milliseconds(2)

    /// Time that each call may use for each transfer in flight: libcurl looks at all of them.
    static let perTransferInFlight: Duration = .microseconds(1)

    /// Time in the bucket at `updated`; negative if replies have earned time in advance, and above
    /// the capacity after an overflow.
    private var level: Duration = .zero
    private var updated: Instant

    /// True from the overflow until the bucket is at the resumption level.
    private(set) var isThrottled = false

    /// True from an overflow by one call until the bucket is half empty.
    private(set) var isExhausted = false

    init(at now: Instant) { updated = now }

    /// Instant at which a throttled provider is read again.
    var resumption: Instant { updated + max(.zero, level - Self.resumptionLevel) * Self.leak }

    /// Updates the state to `now`.
    mutating func update(to now: Instant) {
        level = max(min(level, .zero), level - updated.duration(to: now) / Self.leak)
        updated = now
        if level <= Self.resumptionLevel { isThrottled = false }
        if level <= Self.capacity / 2 { isExhausted = false }
    }

    /// Returns true if `time`, used by one call, overflows an otherwise empty bucket.
    ///
    /// - Parameters:
    ///   - octets: octets of header lines and bodies that the call has delivered.
    ///   - inFlight: number of transfers in flight.
    func overflows(_ time: Duration, octets: Int, inFlight: Int) -> Bool {
        let allowed = Self.perOctet * octets + Self.perTransferInFlight * inFlight
        return min(level, .zero) + time - allowed > Self.capacity
    }

    /// Adds the processor time of one call of libcurl, less what the replies earn.
    ///
    /// - Parameters:
    ///   - ended: number of transfers that the call has ended.
    ///   - isStopped: true if the call overflowed the bucket while it was running.
    mutating func charge(
        _ time: Duration,
        octets: Int,
        inFlight: Int,
        ended: Int,
        isStopped: Bool = false,
        at now: Instant
    ) {
        update(to: now)
        let net =
            isStopped
            ? time
            : max(.zero, time - Self.perTransferInFlight * inFlight)
                - Self.perOctet * octets - Self.perTransfer * ended
        let isOverflow = isStopped || min(level, .zero) + net > Self.capacity
        level = max(level + net, isOverflow ? Self.capacity : .zero - Self.capacity)
        if level >= Self.capacity { isThrottled = true }
        if isOverflow { isExhausted = true }
    }
}

/// Measures the processor time that libcurl uses to read what a provider sends.
///
/// TLS handshakes are not counted, because on a slow processor they take longer than the budget.
/// ``HandshakeLimit`` bounds each of them, and a connection has only one.
///
/// Not isolated, because C calls it for every header line and TLS record, on the service loop.
final class LoopMeter {
    private(set) var budget = LoopBudget(at: Clock.now)

    /// Thread time at which the current call of libcurl began to read; nil if it has read nothing.
    private var start: Duration?

    /// Octets of header lines and bodies that the current call of libcurl has delivered.
    private var octets = 0

    /// Number of transfers in flight at the beginning of the current call.
    private var inFlight = 0

    /// True if the current call was told to stop reading.
    private var isStopped = false

    /// True if the provider is out of service.
    var isExhausted: Bool {
        budget.update(to: Clock.now)
        return budget.isExhausted
    }

    /// Instant at which the provider's sockets are read again; nil if it is not throttled.
    var resumption: Instant? {
        budget.update(to: Clock.now)
        return budget.isThrottled ? budget.resumption : nil
    }

    /// Starts the measurement of a call of libcurl.
    ///
    /// - Parameters:
    ///   - reads: true if the call may read without calling ``noteRecord()``.
    ///   - inFlight: number of transfers in flight.
    func begin(reads: Bool, inFlight: Int) {
        (octets, isStopped, self.inFlight) = (0, false, inFlight)
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
        let time = Clock.threadTime - start
        if budget.overflows(time, octets: octets, inFlight: inFlight) { isStopped = true }
        return !isStopped
    }

    /// Returns the processor time that the call of libcurl has used for reading.
    func end() -> Duration {
        guard let start else { return .zero }
        self.start = nil
        return Clock.threadTime - start
    }

    /// Charges a call of libcurl that used `time` and ended `transfers`; returns false if the budget
    /// is exhausted.
    func charge(_ time: Duration, transfers: Int) -> Bool {
        guard time > .zero else { return true }
        budget.charge(
            time,
            octets: octets,
            inFlight: inFlight,
            ended: transfers,
            isStopped: isStopped,
            at: Clock.now
        )
        return !budget.isExhausted
    }
}
