// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization

/// Queue of the service loop's outgoing datagrams, sent with one `sendmmsg` per socket.
///
/// Each wakeup of a receiver on this machine is expensive; in a batch, only the first datagram
/// wakes the receiver.
// SAFETY: each block has capacity for `capacity` datagrams, is never freed, and is used on the
// service loop only. Slots are below `capacity`.
@safe
@ServiceLoop
final class DatagramQueue {
    static let shared = DatagramQueue()

    private static let capacity = 128
    private static let capacityOctets = 65_536

    /// Owner of a descriptor; the queue retains it until the datagrams are sent.
    private enum Sender {
        case socket(DatagramSocket)
        case listener(DatagramListener)
    }

    /// Unlike an `InlineArray`, needs no run-time exclusivity checks.
    private let senders = UnsafeMutablePointer<Sender?>.allocate(capacity: capacity)
    private var count = 0
    private var octets = 0

    private(set) var batch = 0

    private var failures: [(socket: DatagramSocket, error: SocketError)] = [] {
        didSet { hasFailures = !failures.isEmpty }
    }

    private var hasFailures = false

    private let buffer = UnsafeMutableRawPointer.allocate(
        byteCount: capacityOctets,
        alignment: 64
    )

    private let descriptors = UnsafeMutablePointer<Int32>.allocate(capacity: capacity)
    private let names = UnsafeMutablePointer<sockaddr_storage>.allocate(capacity: capacity)
    private let controls = UnsafeMutableRawPointer.allocate(
        byteCount: capacity * Int(DATAGRAM_CONTROL_OCTETS),
        alignment: 16
    )
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: capacity)
    private let headers = UnsafeMutablePointer<datagram_header>.allocate(capacity: capacity)
    private let outgoing = UnsafeMutablePointer<datagram_header>.allocate(capacity: capacity)

    private init() {
        unsafe senders.initialize(repeating: nil, count: Self.capacity)
        LoopExecutor.shared.setFlush { [unowned self] in flush() }
    }

    // MARK: - Queueing

    func add(_ datagram: [UInt8], of socket: DatagramSocket, _ descriptor: Int32) {
        let slot = reserve(datagram, datagram.count)
        append(.socket(socket), descriptor, at: slot)
    }

    func add(
        _ length: Int,
        of socket: DatagramSocket,
        _ descriptor: Int32,
        _ write: @ServiceLoop (inout MutableRawSpan) -> Void
    ) {
        let slot = reserve(length)
        var octets = unsafe MutableRawSpan(
            _unsafeStart: vectors[slot].iov_base,
            byteCount: length
        )
        write(&octets)
        append(.socket(socket), descriptor, at: slot)
    }

    func add(
        _ reply: [UInt8],
        count octets: Int,
        to query: ReceivedDatagram,
        of listener: DatagramListener
    ) {
        let slot = reserve(reply, octets)
        unsafe names[slot] = query.client
        unsafe headers[slot].name = UnsafeMutableRawPointer(names + slot)
        unsafe headers[slot].name_octets = query.clientCount
        let control = unsafe controls + slot * Int(DATAGRAM_CONTROL_OCTETS)
        unsafe Self.copy(query.control, query.control.count, to: control)
        unsafe headers[slot].control = query.control.isEmpty ? nil : control
        unsafe headers[slot].control_octets = query.control.count
        append(.listener(listener), listener.descriptor, at: slot)
    }

    private func reserve(_ datagram: [UInt8], _ length: Int) -> Int {
        let slot = reserve(length)
        unsafe Self.copy(datagram, length, to: vectors[slot].iov_base)
        return slot
    }

    private func reserve(_ length: Int) -> Int {
        precondition(length <= Self.capacityOctets, "a datagram has at most 65,535 octets")
        // Does not call `flush`, because `flush` reports failures, and the handler of a failure may
        // call this function again.
        if count == Self.capacity || octets + length > Self.capacityOctets { transmit() }
        let slot = count
        precondition(slot < Self.capacity, "the queue has no free slot")
        unsafe vectors[slot] = iovec(iov_base: buffer + octets, iov_len: length)
        octets += length
        unsafe headers[slot] = datagram_header()
        unsafe headers[slot].vectors = UnsafeMutableRawPointer(vectors + slot)
        unsafe headers[slot].vector_count = 1
        return slot
    }

    /// Nonisolated, because an isolated closure checks the isolation at each call.
    private nonisolated static func copy(
        _ datagram: [UInt8],
        _ length: Int,
        to start: UnsafeMutableRawPointer
    ) {
        unsafe datagram.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: start, count: length)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<length]))
        }
    }

    private func append(_ sender: Sender, _ descriptor: Int32, at slot: Int) {
        count += 1
        unsafe senders[slot] = sender
        unsafe descriptors[slot] = descriptor
        if slot == 0 { LoopExecutor.shared.flushLater() }
    }

    func drop(_ descriptor: Int32, of socket: DatagramSocket) {
        for slot in 0..<count where unsafe descriptors[slot] == descriptor {
            unsafe descriptors[slot] = -1
        }
        if hasFailures { failures.removeAll { $0.socket === socket } }
    }

    // MARK: - Sending

    /// Sends all datagrams in order, grouped by socket.
    ///
    /// Reports failures last, because the handler of a failure may queue datagrams.
    func flush() {
        transmit()
        while hasFailures {
            let (socket, error) = failures.removeFirst()
            socket.fail(error)
        }
    }

    private func transmit() {
        for slot in 0..<count where unsafe descriptors[slot] >= 0 {
            switch unsafe senders[slot].take() {
            case .listener(let listener):
                _ = send(slot..<count, ofListener: listener)
            case .socket(let socket):
                if let code = send(slot..<count) {
                    failures.append((socket, .system(call: "send", code: code)))
                }
            case nil: break
            }
        }
        for slot in 0..<count { unsafe senders[slot] = nil }
        (count, octets) = (0, 0)
        batch += 1
    }

    /// Sends the datagrams with the descriptor of the first one; returns the errno of a failure.
    private func send(_ slots: Range<Int>, ofListener listener: DatagramListener? = nil) -> Int32? {
        let descriptor = unsafe descriptors[slots.lowerBound]
        var total = 0
        for slot in slots where unsafe descriptors[slot] == descriptor {
            unsafe outgoing[total] = headers[slot]
            unsafe descriptors[slot] = -1
            total += 1
        }
        var (next, mayRepeat) = (0, listener == nil)
        while next < total {
            let sent = unsafe datagrams_send(descriptor, outgoing + next, UInt32(total - next))
            if sent > 0 {
                next += Int(sent)
            } else if sent != -EINTR {
                guard let listener else {
                    // The kernel reports the ICMP error of an earlier datagram once.
                    guard mayRepeat else { return -sent }
                    mayRepeat = false
                    continue
                }
                if sent == -EAGAIN {
                    listener.fullBuffers.add(1, ordering: .relaxed)
                    break
                }
                next += 1
            }
        }
        return nil
    }
}

extension DatagramListener {
    /// Sends the queued replies of all listeners.
    @ServiceLoop
    package static func flush() { DatagramQueue.shared.flush() }

    /// Queues a reply from the queried address; the kernel may drop the reply.
    @ServiceLoop
    package func reply(_ octets: [UInt8], count: Int? = nil, to query: ReceivedDatagram) {
        DatagramQueue.shared.add(octets, count: count ?? octets.count, to: query, of: self)
    }
}
