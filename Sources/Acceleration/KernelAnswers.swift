// SPDX-License-Identifier: Apache-2.0
internal import CBPF
package import DNSCache
package import DNSWire
internal import Glibc
internal import Locks

/// Copies of cache entries from which a BPF program in the kernel answers loopback queries.
///
/// The program is attached from `attach` until the object is released or the process ends.
// SAFETY: the maps are mapped from `init` to `deinit` and written with the lock held; the kernel
// reads the maps as specified in answer.h.
@safe
package final class KernelAnswers: AnswerMirror, @unchecked Sendable {
    private let answering: UnsafeMutablePointer<bpf_answering>

    /// Zero point of the cache's clock, in nanoseconds of CLOCK_BOOTTIME.
    private let origin: UInt64
    private let copies: Lock<Copies>
    private static let logOctets = 1 << 16
    private static let mostIdle = 4096

    /// Loads the BPF program, with capacity for `entries` answers; `seed` is secret and random.
    package init(entries: Int, origin: Instant, seed: UInt64) throws(AccelerationError) {
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
            let what = unsafe failure.map { unsafe String(cString: $0) } ?? "the BPF program"
            throw AccelerationError(result, what, Self.lastLine(of: log))
        }
        unsafe answering = .allocate(capacity: 1)
        unsafe answering.initialize(to: made)
        var words = SecretWords(seed: seed, purpose: 2)
        let secrets = (0..<Int(ANSWER_SECRETS)).map { _ in words.next() }
        unsafe bpf_answering_secrets(made.state, secrets)
        self.origin = UInt64(max(0, origin.nanoseconds))
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

    package func attach() throws(AccelerationError) {
        let device = bpf_loopback_device()
        guard device > 0 else { throw AccelerationError(device, "the lookup of device lo") }
        let link = unsafe bpf_answering_attach(answering, device)
        guard link != -EINVAL else { throw .tooOld }
        guard link >= 0 else {
            throw AccelerationError(link, "the attachment of the BPF program to lo")
        }
        copies.withLock { $0.link = link }
    }

    /// Enables answers at the first 16 of `addresses`; 0.0.0.0 means 127.0.0.1, and `::` means
    /// `::1`.
    ///
    /// - Parameters:
    ///   - ipv4: true to answer clients in 127.0.0.0/8.
    ///   - ipv6: true to answer clients at `::1`.
    package func answer(at addresses: [(ip: IPAddress, port: UInt16)], ipv4: Bool, ipv6: Bool) {
        let listeners = addresses.prefix(Int(ANSWER_LISTENERS)).map { answer_listener($0, $1) }
        copies.withLock { copies in
            _ = change(&copies) {
                let count = UInt32(listeners.count)
                unsafe bpf_answering_listen(answering.pointee.state, listeners, count)
                return 0
            }
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
            precondition(copies.holders > 0, "`resume` follows `suspend`")
            copies.holders -= 1
            show(copies)
        }
    }

    private func show(_ copies: borrowing Copies) {
        unsafe bpf_answering_families(
            answering.pointee.state,
            copies.holders == 0 ? copies.families : 0
        )
    }

    package struct Numbers: Sendable {
        package var entries = 0

        /// Number of answers of the BPF program, as of the latest read of its hit counters.
        package var answers: UInt64 = 0

        package var isSuspended = false
        package var families = (ipv4: false, ipv6: false)
    }

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
            // The removal fails only if the copy does not exist.
            _ = change(&copies) { unsafe bpf_answering_remove(answering, key) }
            collect(slot, &copies)
            copies.release(slot)
        }
    }

    package func change(_ changes: () -> Void) {
        copies.withLock { copies in
            copies.isChanging = true
            unsafe bpf_answering_begin(answering.pointee.state)
        }
        changes()
        copies.withLock { copies in
            unsafe bpf_answering_end(answering.pointee.state)
            copies.isChanging = false
        }
    }

    package func newHits(from position: Int, count: Int) -> MirroredHitStride {
        copies.withLock { copies in
            if position == 0 { copies.idleLeft = copies.isFull ? Self.mostIdle : 0 }
            var stride = MirroredHitStride()
            let end = min(position + count, copies.slots.count)
            for slot in min(position, end)..<end where copies.slots[slot].isUsed {
                let wasHit = collect(UInt32(slot), &copies)
                if !wasHit, copies.idleLeft > 0 {
                    copies.idleLeft -= 1
                    stride.idle.append(copies.slots[slot].of)
                }
            }
            // `copies.hits` also has hits on removed copies, so it can exceed `count` elements.
            stride.hits = Array(copies.hits.suffix(count))
            copies.hits.removeLast(stride.hits.count)
            if end < copies.slots.count || !copies.hits.isEmpty { stride.next = end }
            return stride
        }
    }

    /// Returns false if there are no new hits.
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

    private func takeSlot(for key: UInt64, _ copies: inout Copies) -> UInt32? {
        if let slot = copies.places[key] {
            collect(slot, &copies)
            return slot
        }
        return copies.takeSlot()
    }

    /// Changes the maps while the sequence number is odd (a seqlock).
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

    package static let largestFrame = 2048

    /// Runs the BPF program on a loopback frame; returns nil if the program sends no reply.
    package func outcome(of frame: [UInt8]) throws(AccelerationError) -> [UInt8]? {
        var buffer = frame
        buffer += [UInt8](repeating: 0, count: max(0, Self.largestFrame - frame.count))
        let room = UInt32(buffer.count)
        let length = unsafe bpf_answering_try(answering, &buffer, UInt32(frame.count), room)
        guard length >= 0 else { throw AccelerationError(length, "a test run") }
        return length == 0 ? nil : Array(buffer[..<Int(length)])
    }

    // MARK: - Reading

    private static func lastLine(of log: [CChar]) -> String {
        let octets = log.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        // The verifier ends its log with a line of statistics, which is skipped.
        return lines.last { !$0.hasPrefix("processed ") }.map(String.init) ?? ""
    }
}
