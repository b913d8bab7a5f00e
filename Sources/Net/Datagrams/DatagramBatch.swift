// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization

/// Receive and send buffers of one worker thread.
///
/// A reply reuses the `msghdr` of its query, so the source address of the reply is the address that
/// the client queried.
// SAFETY: blocks have `capacity` elements, and slots are below `capacity`. Only this type and,
// during a call, the kernel use the blocks.
@safe
package struct DatagramBatch: ~Copyable {
    package static let capacity = 32

    /// Size of each buffer; the kernel truncates a longer query, and no UDP reply is longer.
    package static let bufferOctets = 4096

    private let buffers: UnsafeMutableRawPointer
    private let names: UnsafeMutablePointer<sockaddr_storage>
    private let controls: UnsafeMutableRawPointer
    private let vectors: UnsafeMutablePointer<iovec>
    private let received: UnsafeMutablePointer<datagram_header>
    private let outgoing: UnsafeMutablePointer<datagram_header>
    private let controlOctets: Int
    private var outgoingCount = 0

    private var usedCount = DatagramBatch.capacity

    package init(for listener: DatagramListener) {
        let count = Self.capacity
        guard let zeroed = unsafe calloc(count, Self.bufferOctets) else {
            preconditionFailure("no memory for a worker's buffers")
        }
        unsafe buffers = zeroed
        unsafe names = .allocate(capacity: count)
        unsafe names.initialize(repeating: sockaddr_storage(), count: count)
        unsafe controls = .allocate(byteCount: count * Self.controlCapacity, alignment: 16)
        unsafe controls.initializeMemory(
            as: UInt8.self,
            repeating: 0,
            count: count * Self.controlCapacity
        )
        unsafe vectors = .allocate(capacity: count)
        unsafe vectors.initialize(repeating: iovec(), count: count)
        unsafe received = .allocate(capacity: count)
        unsafe received.initialize(repeating: datagram_header(), count: count)
        unsafe outgoing = .allocate(capacity: count)
        unsafe outgoing.initialize(repeating: datagram_header(), count: count)
        controlOctets = listener.reportsDestination ? Self.controlCapacity : 0
        for slot in 0..<count {
            unsafe vectors[slot].iov_base = buffers + slot * Self.bufferOctets
            unsafe received[slot].vectors = UnsafeMutableRawPointer(vectors + slot)
            unsafe received[slot].vector_count = 1
            unsafe received[slot].name = UnsafeMutableRawPointer(names + slot)
            if listener.reportsDestination {
                unsafe received[slot].control = controls + slot * Self.controlCapacity
            }
        }
    }

    deinit {
        unsafe free(buffers)
        unsafe names.deallocate()
        unsafe controls.deallocate()
        unsafe vectors.deallocate()
        unsafe received.deallocate()
        unsafe outgoing.deallocate()
    }

    private static var controlCapacity: Int { Int(DATAGRAM_CONTROL_OCTETS) }

    // MARK: - Receiving

    /// Receives up to `capacity` datagrams; returns their number or a negated errno.
    ///
    /// Without a pending datagram, blocks if `waits` is true, and otherwise returns 0.
    package mutating func receive(from listener: DatagramListener, waits: Bool = true) -> Int {
        for slot in 0..<usedCount {
            unsafe vectors[slot].iov_len = Self.bufferOctets
            unsafe received[slot].name_octets = UInt32(MemoryLayout<sockaddr_storage>.size)
            unsafe received[slot].control_octets = controlOctets
        }
        outgoingCount = 0
        let count = unsafe datagrams_receive(
            listener.descriptor,
            received,
            UInt32(Self.capacity),
            waits ? 0 : Int32(MSG_DONTWAIT)
        )
        usedCount = max(0, Int(count))
        if count > 0 { listener.batches.add(1, ordering: .relaxed) }
        return count == -EAGAIN ? 0 : Int(count)
    }

    package func count(_ slot: Int) -> Int { unsafe Int(received[slot].octets) }

    package mutating func withBuffer<Result>(
        _ slot: Int,
        _ body: (inout MutableRawSpan) -> Result
    ) -> Result {
        var span = unsafe MutableRawSpan(
            _unsafeStart: buffers + slot * Self.bufferOctets,
            byteCount: Self.bufferOctets
        )
        return body(&span)
    }

    /// Calls `body` with the 4 or 16 octets of the client's IP address.
    package func withClientAddress<Result>(_ slot: Int, _ body: (RawSpan) -> Result) -> Result {
        // SAFETY: the address family determines which of the two types the kernel wrote.
        let name = unsafe UnsafeRawPointer(names + slot)
        let isIPv6 = unsafe Int32(names[slot].ss_family) == AF_INET6
        let offset =
            isIPv6
            ? MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)
            : MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)
        return body(
            unsafe RawSpan(_unsafeStart: name + (offset ?? 0), byteCount: isIPv6 ? 16 : 4)
        )
    }

    /// Returns a copy of the datagram, or of its first `most` octets.
    package func copy(_ slot: Int, first most: Int? = nil) -> ReceivedDatagram {
        let header = unsafe received[slot]
        let octets = unsafe UnsafeRawBufferPointer(
            start: buffers + slot * Self.bufferOctets,
            count: min(count(slot), most ?? .max)
        )
        let control = unsafe UnsafeRawBufferPointer(
            start: header.control,
            count: header.control_octets
        )
        return unsafe ReceivedDatagram(
            octets: [UInt8](octets),
            client: names[slot],
            clientCount: header.name_octets,
            control: [UInt8](control)
        )
    }

    /// True if the datagram, without its first `skipped` octets, equals `octets`.
    package func holds(_ octets: [UInt8], behind skipped: Int, in slot: Int) -> Bool {
        guard count(slot) == skipped + octets.count else { return false }
        return unsafe octets.withUnsafeBytes { octets in
            let buffer = unsafe buffers + slot * Self.bufferOctets + skipped
            return unsafe octets.elementsEqual(
                UnsafeRawBufferPointer(start: buffer, count: octets.count)
            )
        }
    }

    // MARK: - Sending

    /// Queues the first `count` octets of the slot's buffer as the reply to the query in `slot`.
    package mutating func reply(_ slot: Int, count: Int) {
        // SAFETY: each slot has at most one reply, so `outgoing` has capacity.
        unsafe vectors[slot].iov_len = count
        unsafe outgoing[outgoingCount] = received[slot]
        outgoingCount += 1
    }

    /// Sends the queued replies; returns the number of replies that were dropped.
    package mutating func send(to listener: DatagramListener) -> Int {
        var next = 0
        var dropped = 0
        while next < outgoingCount {
            let sent = unsafe datagrams_send(
                listener.descriptor,
                outgoing + next,
                UInt32(outgoingCount - next)
            )
            if sent > 0 {
                next += Int(sent)
            } else if sent == -EAGAIN {
                listener.fullBuffers.add(1, ordering: .relaxed)
                dropped += outgoingCount - next
                break
            } else if sent != -EINTR {
                next += 1
                dropped += 1
            }
        }
        outgoingCount = 0
        return dropped
    }
}
