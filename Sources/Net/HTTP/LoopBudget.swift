// SPDX-License-Identifier: Apache-2.0

/// Leaky bucket for the CPU time that libcurl spends on a provider.
///
/// A server can use up CPU time by three attacks: endless frames that belong to no reply (RFC 9113
/// §10.5), a reply in frames of one octet, and connections that end after the TLS handshake.
///
/// - Exhausted: a single libcurl call used more CPU time than the capacity of the bucket. All
///   connections are closed, and requests to the provider fail until the bucket is half empty.
/// - Throttled: several libcurl calls have filled the bucket. The sockets are not read until a
///   tenth of the bucket is empty, because fewer and larger reads are cheaper.
///
/// Each reply lowers the level by more than the usual CPU time of a reply. A failed transfer does
/// not lower the level, but ``perTransfer`` of its CPU time is not charged.
struct LoopBudget {
    /// Capacity of the bucket; replies can lower the level below 0, down to `-capacity`.
    static let capacity: Duration = .milliseconds(50)

    /// Level at which a throttled provider is read again, after at least 50 ms.
    static let resumptionLevel: Duration = .milliseconds(45)

    /// Divisor of the leak: the level falls by 1/10 of the elapsed time.
    static let leak: Int64 = 10

    /// Nanoseconds subtracted from the level: for each received octet, and for each reply.
    ///
    /// Not a `Duration`, because the multiplication of durations is slow.
    ///
    /// A reply usually takes 0.1 ms of CPU time. ``perTransfer`` is larger: libcurl also checks all
    /// transfers of the connection, so one call can take 1 ms.
    static let perOctet = 100
    static let perTransfer = 2_000_000

    /// Uncharged nanoseconds of each libcurl call, for each transfer in flight.
    ///
    /// Each libcurl call checks all transfers in flight.
    static let perTransferInFlight = 1000

    /// Level of the bucket at `updated`; negative after many replies.
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
            // A division of durations is slow.
            let leaked = (now.nanoseconds &- updated.nanoseconds) / Self.leak
            level = max(.zero, level - .nanoseconds(leaked))
        }
        updated = now
        if level <= Self.resumptionLevel { isThrottled = false }
        if isExhausted, level <= Self.capacity / 2 { isExhausted = false }
    }

    /// Returns true if a single libcurl call of length `time`, which received `octets`, overflows
    /// an empty bucket.
    func overflows(_ time: Duration, octets: Int, inFlight: Int) -> Bool {
        let allowed = Self.perOctet * octets + Self.perTransferInFlight * inFlight
        return min(level, .zero) + time - .nanoseconds(allowed) > Self.capacity
    }

    /// Adds the CPU time of one libcurl call, minus the allowances.
    ///
    /// The allowances are ``perOctet``, ``perTransfer`` and ``perTransferInFlight``.
    ///
    /// - Parameters:
    ///   - failed: number of transfers that ended without a reply. For each of them,
    ///     ``perTransfer`` is subtracted from the CPU time of the call, down to 0.
    ///   - isStopped: true if the call was stopped because it overflowed the bucket; then the full
    ///     CPU time is added.
    mutating func charge(
        _ time: Duration,
        octets: Int,
        inFlight: Int,
        ended: Int,
        failed: Int = 0,
        isStopped: Bool = false,
        at now: Instant
    ) {
        update(to: now)
        let uncharged = Self.perTransferInFlight * inFlight + Self.perTransfer * failed
        let net =
            isStopped
            ? time
            : max(.zero, time - .nanoseconds(uncharged))
                - .nanoseconds(Self.perOctet * octets + Self.perTransfer * ended)
        let isOverflow = isStopped || min(level, .zero) + net > Self.capacity
        level = max(level + net, isOverflow ? Self.capacity : .zero - Self.capacity)
        if level >= Self.capacity { isThrottled = true }
        if isOverflow { isExhausted = true }
    }

    /// Adds the CPU time of a failed TLS handshake, or of the libcurl call in which it failed.
    ///
    /// Never sets ``isExhausted``: the request would then fail with an error about endless data
    /// instead of the TLS error.
    mutating func chargeFailedHandshake(_ time: Duration, at now: Instant) {
        update(to: now)
        level += time
        if level >= Self.capacity { isThrottled = true }
    }

    /// Adds the CPU time of a handshake on a connection that ended without a reply.
    ///
    /// Adds at least ``perTransfer``, because the connection also needed CPU time outside the
    /// handshake. Each reply subtracts ``perTransfer``, so a server that replies on half of its
    /// connections is not throttled.
    mutating func chargeUnanswered(_ handshake: Duration, at now: Instant) {
        chargeFailedHandshake(max(handshake, .nanoseconds(Self.perTransfer)), at: now)
    }
}

/// CPU time meter for libcurl calls that read from a provider.
///
/// Charges a TLS handshake only if the handshake fails, or if the connection ends without a reply,
/// because a successful handshake can take more CPU time than the budget allows. ``HandshakeLimit``
/// limits the number of messages in a handshake.
///
/// Not isolated, because C code, which runs on the service loop, calls the meter.
final class LoopMeter {
    private(set) var budget = LoopBudget(at: Clock.now)

    /// CPU time of the thread at the first read in the current libcurl call.
    private var start: Duration?

    private var firstRead = Clock.now

    private var callStart: Duration = .zero

    private var octets = 0

    /// True if the current libcurl call has processed a handshake, and has not yet read data.
    private var isHandshake = false

    /// CPU time and number of the handshakes that ``takeHandshake(isCharged:)`` has not yet
    /// removed.
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

    /// Begins a libcurl call; the measurement of its CPU time starts at the first TLS record.
    ///
    /// - Parameter reads: true without TLS; then the measurement starts immediately, because
    ///   ``noteRecord()`` is never called.
    func begin(reads: Bool, inFlight: Int) {
        (octets, isStopped, self.inFlight) = (0, false, inFlight)
        callStart = Clock.threadTime
        start = reads ? callStart : nil
        if reads { firstRead = Clock.now }
    }

    func gain(_ octets: Int) { self.octets += octets }

    /// True if header or body octets of a reply have arrived since ``begin(reads:inFlight:)``.
    var hasGained: Bool { octets > 0 }

    /// Checks the CPU time at a received TLS record; returns false if the connection must end.
    func noteRecord() -> Bool {
        guard let start else {
            start = Clock.threadTime
            firstRead = Clock.now
            return true
        }
        // Compares the elapsed time first. The CPU time cannot be longer than the elapsed time, and
        // only the CPU time needs a system call.
        guard isStopped || overflows(firstRead.duration(to: Clock.now)) else { return true }
        if overflows(Clock.threadTime - start) { isStopped = true }
        return !isStopped
    }

    private func overflows(_ time: Duration) -> Bool {
        budget.overflows(time, octets: octets, inFlight: inFlight)
    }

    /// Notes a TLS record or message of a handshake; `isLast` is true for the last message.
    func noteHandshake(isLast: Bool) {
        guard start == nil else { return }
        isHandshake = true
        if isLast { handshakes.count += 1 }
    }

    /// Ends the measurement of a libcurl call; returns the CPU time since the first read of data.
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

    /// Removes one handshake from ``handshakes``; called when the request that opened the
    /// connection ends.
    ///
    /// The CPU time of a single handshake is unknown, so the mean of all ``handshakes`` is removed.
    ///
    /// - Parameter isCharged: true if the connection ended without a reply.
    func takeHandshake(isCharged: Bool) {
        let time = handshakes.time / max(1, handshakes.count)
        handshakes = (handshakes.time - time, max(0, handshakes.count - 1))
        if isCharged { budget.chargeUnanswered(time, at: Clock.now) }
    }

    /// Charges a libcurl call; returns false if the budget is exhausted.
    func charge(_ time: Duration, replies: Int, failed: Int) -> Bool {
        guard time > .zero else { return true }
        budget.charge(
            time,
            octets: octets,
            inFlight: inFlight,
            ended: replies,
            failed: failed,
            isStopped: isStopped,
            at: Clock.now
        )
        return !budget.isExhausted
    }
}
