// SPDX-License-Identifier: Apache-2.0

/// Leaky bucket that limits the CPU time of libcurl for one vendor or one upstream.
///
/// ``TLSClient`` also has such a bucket for the TLS handshakes with each server.
///
/// A server can use up CPU time by endless frames that belong to no reply (RFC 9113 §10.5), a reply
/// in frames of one octet, and connections that end after the TLS handshake.
///
/// - Exhausted: a single libcurl call used more CPU time than the capacity of the bucket. All
///   connections are closed, and requests fail until the bucket is half empty.
/// - Throttled: several libcurl calls have filled the bucket. The sockets are not read until a
///   tenth of the bucket is empty, because fewer and larger reads are cheaper.
struct LoopBudget {
    /// Replies can lower the level below 0, down to `-capacity`.
    static let capacity: Duration = .milliseconds(50)

    static let resumptionLevel: Duration = .milliseconds(45)

    /// The level falls by 1/10 of the elapsed time.
    static let leak: Int64 = 10

    /// Nanoseconds subtracted for each received octet.
    ///
    /// Not a `Duration`, because the multiplication of durations is slow.
    static let perOctet = 100

    /// Nanoseconds subtracted for each reply; the CPU time of a reply is 0.1 ms to 1 ms.
    static let perTransfer = 2_000_000

    /// Nanoseconds added for each message after the TLS handshake, such as a session ticket.
    ///
    /// libcurl returns after each of these messages, so most of their CPU time is not measured.
    static let perMessage = 40_000

    /// Nanoseconds subtracted from the time of a libcurl call, for each transfer in flight.
    ///
    /// Each call checks all transfers in flight.
    static let perTransferInFlight = 1000

    /// Level at `updated`; negative after many replies.
    private(set) var level: Duration = .zero
    private var updated: Instant

    /// True after the bucket is full, until the level has fallen to ``resumptionLevel``.
    private(set) var isThrottled = false

    /// True after a single call overflows an empty bucket, until the bucket is half empty.
    private(set) var isExhausted = false

    init(at now: Instant) { updated = now }

    var resumption: Instant { updated + max(.zero, level - Self.resumptionLevel) * Int(Self.leak) }

    mutating func update(to now: Instant) {
        if level > .zero {
            let leaked = (now.nanoseconds &- updated.nanoseconds) / Self.leak
            level = max(.zero, level - .nanoseconds(leaked))
        }
        updated = now
        if level <= Self.resumptionLevel { isThrottled = false }
        if isExhausted, level <= Self.capacity / 2 { isExhausted = false }
    }

    /// Returns true if a single libcurl call overflows an empty bucket.
    func overflows(_ time: Duration, octets: Int, inFlight: Int) -> Bool {
        let allowed = Self.perOctet * octets + Self.perTransferInFlight * inFlight
        return min(level, .zero) + time - .nanoseconds(allowed) > Self.capacity
    }

    /// Adds the CPU time of one libcurl call and ``perMessage``; subtracts ``perOctet``,
    /// ``perTransfer`` and ``perTransferInFlight``.
    ///
    /// - Parameters:
    ///   - failed: number of transfers that ended without a reply; for each of them, up to
    ///     ``perTransfer`` of the CPU time is not added.
    ///   - isStopped: true to add the full CPU time, because the call overflowed the bucket.
    mutating func charge(
        _ time: Duration,
        octets: Int,
        inFlight: Int,
        ended: Int,
        failed: Int = 0,
        messages: Int = 0,
        isStopped: Bool = false,
        at now: Instant
    ) {
        update(to: now)
        let uncharged = Self.perTransferInFlight * inFlight + Self.perTransfer * failed
        let net =
            isStopped
            ? time
            : max(.zero, time - .nanoseconds(uncharged))
                + .nanoseconds(Self.perMessage * messages)
                - .nanoseconds(Self.perOctet * octets + Self.perTransfer * ended)
        let isOverflow = isStopped || min(level, .zero) + net > Self.capacity
        level = max(level + net, isOverflow ? Self.capacity : .zero - Self.capacity)
        if level >= Self.capacity { isThrottled = true }
        if isOverflow { isExhausted = true }
    }

    /// Never sets ``isExhausted``: the request must fail with the TLS error, not with the error of
    /// an exhausted budget.
    mutating func chargeFailedHandshake(_ time: Duration, at now: Instant) {
        update(to: now)
        level += time
        if level >= Self.capacity { isThrottled = true }
    }

    /// Adds the CPU time of a handshake on a connection that ended without a reply.
    ///
    /// Adds at least ``perTransfer``, to include the CPU time outside the handshake. Each reply
    /// subtracts ``perTransfer``, so replies on half of the connections usually prevent throttling.
    mutating func chargeUnanswered(_ handshake: Duration, at now: Instant) {
        chargeFailedHandshake(max(handshake, .nanoseconds(Self.perTransfer)), at: now)
    }
}

/// CPU time meter for the libcurl calls that read from one vendor or one upstream.
///
/// Charges a TLS handshake only if it fails, or if the connection ends without a reply, because a
/// successful handshake can take more CPU time than the budget allows. Not isolated, because C code
/// on the service loop calls the meter.
final class LoopMeter {
    private(set) var budget = LoopBudget(at: Clock.now)

    private var start: Duration?

    private var firstRead = Clock.now

    private var callStart: Duration = .zero

    private var octets = 0

    private var messages = 0

    private var isHandshake = false

    private var handshakes: (time: Duration, count: Int) = (.zero, 0)

    private var inFlight = 0

    private var isStopped = false

    func isExhausted(at now: Instant) -> Bool {
        budget.update(to: now)
        return budget.isExhausted
    }

    var resumption: Instant? {
        budget.update(to: Clock.now)
        return budget.isThrottled ? budget.resumption : nil
    }

    /// Begins a libcurl call.
    ///
    /// - Parameter reads: true to measure the whole call. Without TLS, nothing calls
    ///   ``noteRecord()``, which otherwise starts the measurement.
    func begin(reads: Bool, inFlight: Int) {
        (octets, messages, isStopped, self.inFlight) = (0, 0, false, inFlight)
        callStart = Clock.threadTime
        start = reads ? callStart : nil
        if reads { firstRead = Clock.now }
    }

    func gain(_ octets: Int) { self.octets += octets }

    var hasGained: Bool { octets > 0 }

    /// Returns false if the connection must end.
    func noteRecord() -> Bool {
        guard let start else {
            start = Clock.threadTime
            firstRead = Clock.now
            return true
        }
        // Checks the elapsed time first: the CPU time cannot be longer, but needs a system call.
        guard isStopped || overflows(firstRead.duration(to: Clock.now)) else { return true }
        if overflows(Clock.threadTime - start) { isStopped = true }
        return !isStopped
    }

    /// Notes a message after the handshake; returns false if the connection must end.
    func noteMessage() -> Bool {
        messages += 1
        return noteRecord()
    }

    private func overflows(_ time: Duration) -> Bool {
        budget.overflows(time, octets: octets, inFlight: inFlight)
    }

    func noteHandshake(isLast: Bool) {
        guard start == nil else { return }
        isHandshake = true
        if isLast { handshakes.count += 1 }
    }

    /// Returns the CPU time since the first read of data.
    func end() -> Duration {
        guard isHandshake || start != nil else { return .zero }
        let now = Clock.threadTime
        let firstRead = start ?? now
        if isHandshake { handshakes.time += firstRead - callStart }
        (start, isHandshake) = (nil, false)
        return now - firstRead
    }

    func chargeFailedHandshake() {
        budget.chargeFailedHandshake(Clock.threadTime - callStart, at: Clock.now)
    }

    /// Removes one handshake from ``handshakes``.
    ///
    /// The time of a single handshake is unknown, so the mean time of all handshakes is used.
    ///
    /// - Parameter isCharged: true if the connection ended without a reply.
    func takeHandshake(isCharged: Bool) {
        let time = handshakes.time / max(1, handshakes.count)
        handshakes = (handshakes.time - time, max(0, handshakes.count - 1))
        if isCharged { budget.chargeUnanswered(time, at: Clock.now) }
    }

    /// Returns false if the budget is exhausted.
    func charge(_ time: Duration, replies: Int, failed: Int) -> Bool {
        guard time > .zero else { return true }
        budget.charge(
            time,
            octets: octets,
            inFlight: inFlight,
            ended: replies,
            failed: failed,
            messages: messages,
            isStopped: isStopped,
            at: Clock.now
        )
        return !budget.isExhausted
    }
}
