// SPDX-License-Identifier: Apache-2.0
internal import CBPF
package import DNSCache
package import DNSWire
internal import Glibc
internal import Locks

/// Copies of answers that the kernel gives to who asks over loopback, inside the asker's own call.
///
/// The program is loaded by `init` and answers from `attach` on, until the process ends, however it
/// does.
// SAFETY: the maps' memory is mapped from `init` to `deinit` and written by the lock's holder only;
// the kernel reads it as answer.h says.
@safe
package final class KernelAnswers: AnswerMirror, @unchecked Sendable {
    private let answering: UnsafeMutablePointer<bpf_answering>

    /// The cache's origin, in nanoseconds of CLOCK_BOOTTIME.
    private let origin: UInt64
    private let copies: Lock<Copies>

    /// Octets that are kept of what the kernel says of a program that it does not take.
    private static let logOctets = 1 << 16

    /// Idle copies that are given up at once.
    private static let mostIdle = 4096

    /// Loads the program, with room for `entries` answers.
    ///
    /// - Parameters:
    ///   - origin: the cache's.
    ///   - seed: a random number from the kernel, which the secrets of the keys are derived from.
    package init(
        entries: Int,
        origin: ContinuousClock.Instant,
        seed: UInt64
    ) throws(AccelerationError) {
        var made = unsafe bpf_answering()
        var failure: UnsafePointer<CChar>?
        var log = [CChar](repeating: 0, count: Self.logOctets)
        let result = unsafe bpf_answering_open(
            &made,
            UInt32(clamping: entries),
            &failure,
            &log,
            UInt32(log.count)
        )
        guard result == 0 else {
            let what = unsafe failure.map { unsafe String(cString: $0) } ?? "it"
            throw AccelerationError(result, what, Self.lastLine(of: log))
        }
        unsafe answering = .allocate(capacity: 1)
        unsafe answering.initialize(to: made)
        var words = SecretWords(seed: seed, purpose: 2)
        let secrets = (0..<Int(ANSWER_SECRETS)).map { _ in words.next() }
        unsafe bpf_answering_secrets(made.state, secrets)
        self.origin = Self.nanoseconds(ContinuousClock().systemEpoch.duration(to: origin))
        copies = Lock(Copies(room: entries))
    }

    deinit {
        copies.withLock { copies in
            if copies.link >= 0 { close(copies.link) }
        }
        unsafe bpf_answering_close(answering)
        unsafe answering.deallocate()
    }

    // MARK: - Answering

    /// Answers on the loopback device from now on.
    package func attach() throws(AccelerationError) {
        let device = bpf_loopback_device()
        guard device > 0 else { throw AccelerationError(device, "the loopback device") }
        let link = unsafe bpf_answering_attach(answering, device)
        guard link != -EINVAL else { throw .tooOld }
        guard link >= 0 else { throw AccelerationError(link, "the place on loopback") }
        copies.withLock { $0.link = link }
    }

    /// Answers only what is sent to one of these addresses, at most 16; an unspecified address stands
    /// for the loopback address of its family.
    ///
    /// - Parameters:
    ///   - ipv4: whether all of 127.0.0.0/8 may ask.
    ///   - ipv6: whether ::1 may.
    package func answer(
        at addresses: [(ip: IPAddress, port: UInt16)],
        ipv4: Bool,
        ipv6: Bool
    ) {
        let listeners = addresses.prefix(Int(ANSWER_LISTENERS)).map { answer_listener($0, $1) }
        copies.withLock { copies in
            unsafe bpf_answering_begin(answering.pointee.state)
            unsafe bpf_answering_listen(answering.pointee.state, listeners, UInt32(listeners.count))
            unsafe bpf_answering_end(answering.pointee.state)
            copies.families =
                (ipv4 ? UInt32(ANSWER_IPV4) : 0)
                | (ipv6 ? UInt32(ANSWER_IPV6) : 0)
            show(copies)
        }
    }

    package func suspend() {
        copies.withLock { copies in
            copies.holders += 1
            show(copies)
        }
    }

    package func resume() {
        copies.withLock { copies in
            copies.holders -= 1
            show(copies)
        }
    }

    /// Lets the program know whether it may answer.
    private func show(_ copies: borrowing Copies) {
        unsafe bpf_answering_families(
            answering.pointee.state,
            copies.holders == 0 ? copies.families : 0
        )
    }

    /// How things are.
    package struct Numbers: Sendable, Equatable {
        /// Answers that the kernel has.
        package var entries = 0

        /// Answers that it has given, as far as they were collected.
        package var answers: UInt64 = 0

        /// Whether somebody wants to see every query, or many answers are being changed.
        package var isSuspended = false

        /// Whether it may answer who asks over IPv4, and over IPv6.
        package var families = (ipv4: false, ipv6: false)

        package static func == (left: Numbers, right: Numbers) -> Bool {
            left.entries == right.entries && left.answers == right.answers
                && left.isSuspended == right.isSuspended && left.families == right.families
        }
    }

    /// How things are at this moment.
    package var numbers: Numbers {
        copies.withLock { copies in
            Numbers(
                entries: copies.slots.count - copies.free.count,
                answers: copies.collected,
                isSuspended: copies.holders > 0,
                families: (
                    copies.families & UInt32(ANSWER_IPV4) != 0,
                    copies.families & UInt32(ANSWER_IPV6) != 0
                )
            )
        }
    }

    // MARK: - Copies

    package func store(
        _ answer: MirroredAnswer,
        name: RawSpan,
        ttlOffsets: RawSpan,
        sections: RawSpan
    ) -> Bool {
        let key = key(name, answer.type, answer.variant)
        return copies.withLock { copies in
            guard let slot = takeSlot(for: key, &copies) else { return false }
            var copy = CBPF.answer(answer, origin: origin, slot: slot)
            copy.name_count = UInt8(truncatingIfNeeded: name.byteCount)
            copy.ttl_count = UInt8(truncatingIfNeeded: ttlOffsets.byteCount / 2)
            copy.section_count = UInt16(truncatingIfNeeded: sections.byteCount)
            let result = change(&copies) {
                unsafe name.withUnsafeBytes { name in
                    unsafe ttlOffsets.withUnsafeBytes { offsets in
                        unsafe sections.withUnsafeBytes { sections in
                            unsafe bpf_answering_put(
                                answering,
                                key,
                                &copy,
                                name.baseAddress,
                                offsets.baseAddress,
                                sections.baseAddress
                            )
                        }
                    }
                }
            }
            copies.slots[Int(slot)] = Slot(
                key: key,
                of: MirroredHits(of: answer, times: 0),
                seen: hits(slot)
            )
            if result < 0 { copies.release(slot) } else { copies.places[key] = slot }
            return result >= 0
        }
    }

    package func remove(name: RawSpan, type: UInt16, variant: AnswerVariant) {
        let key = key(name, type, variant)
        copies.withLock { copies in
            guard let slot = copies.places[key] else { return }
            // That it is not there is what was wanted.
            _ = change(&copies) { unsafe bpf_answering_remove(answering, key) }
            collect(slot, &copies)
            copies.release(slot)
        }
    }

    package func change(_ changes: () -> Void) {
        copies.withLock { $0.isChanging = true }
        unsafe bpf_answering_begin(answering.pointee.state)
        changes()
        unsafe bpf_answering_end(answering.pointee.state)
        copies.withLock { $0.isChanging = false }
    }

    package func newHits() -> (hits: [MirroredHits], idle: [MirroredHits]) {
        copies.withLock { copies in
            var idle: [MirroredHits] = []
            let isFull = copies.isFull
            for slot in copies.slots.indices where copies.slots[slot].isUsed {
                let wasHit = collect(UInt32(slot), &copies)
                if isFull, !wasHit, idle.count < Self.mostIdle {
                    idle.append(copies.slots[slot].of)
                }
            }
            defer { copies.hits.removeAll() }
            return (copies.hits, idle)
        }
    }

    /// Takes down how often an answer was given since that was done before, and tells whether it was.
    @discardableResult
    private func collect(_ slot: UInt32, _ copies: inout Copies) -> Bool {
        let now = hits(slot)
        let times = now &- copies.slots[Int(slot)].seen
        guard times > 0 else { return false }
        copies.slots[Int(slot)].seen = now
        copies.collected &+= times
        var hits = copies.slots[Int(slot)].of
        hits.times = times
        copies.hits.append(hits)
        return true
    }

    /// A place for a copy: that of the one which it replaces, or a free one; nil if there is none.
    private func takeSlot(for key: UInt64, _ copies: inout Copies) -> UInt32? {
        if let slot = copies.places[key] {
            collect(slot, &copies)
            return slot
        }
        return copies.takeSlot()
    }

    /// Makes one change of the map, as one that the program notices.
    private func change(_ copies: inout Copies, _ body: () -> Int32) -> Int32 {
        if !copies.isChanging { unsafe bpf_answering_begin(answering.pointee.state) }
        defer { if !copies.isChanging { unsafe bpf_answering_end(answering.pointee.state) } }
        return body()
    }

    private func key(_ name: RawSpan, _ type: UInt16, _ variant: AnswerVariant) -> UInt64 {
        unsafe name.withUnsafeBytes { name in
            guard let start = name.baseAddress else { return 0 }
            return unsafe bpf_answering_key(
                answering.pointee.state,
                start.assumingMemoryBound(to: UInt8.self),
                UInt8(truncatingIfNeeded: name.count),
                type,
                variant.rawValue
            )
        }
    }

    private func hits(_ slot: UInt32) -> UInt64 { unsafe bpf_answering_hits(answering, slot) }

    // MARK: - Trying

    /// Octets of the largest frame that `outcome` takes or gives.
    package static let largestFrame = 2048

    /// What becomes of an Ethernet frame that comes in on loopback; nil if it passes as it is.
    ///
    /// Attached or not: so a test sees what the program does without sending anything.
    package func outcome(of frame: [UInt8]) throws(AccelerationError) -> [UInt8]? {
        var buffer = frame
        buffer += [UInt8](repeating: 0, count: max(0, Self.largestFrame - frame.count))
        let room = UInt32(buffer.count)
        let length = unsafe bpf_answering_try(answering, &buffer, UInt32(frame.count), room)
        guard length >= 0 else { throw AccelerationError(length, "a trial") }
        return length == 0 ? nil : Array(buffer[..<Int(length)])
    }

    // MARK: - Reading

    /// The last line of what the kernel says of a program.
    private static func lastLine(of log: [CChar]) -> String {
        let octets = log.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        // The very last one says how much work it was.
        return lines.last { !$0.hasPrefix("processed ") }.map(String.init) ?? ""
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 {
        UInt64(clamping: duration.attoseconds / 1_000_000_000)
    }
}
