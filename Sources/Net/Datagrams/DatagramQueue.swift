// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// Outgoing datagrams of the service loop, for one `sendmmsg` per socket.
///
/// Waking the receiver is expensive; in a batch only the first datagram wakes the receiver.
// SAFETY: blocks have the sizes of their properties, are never freed, and are used on the service
// loop only. Slots are below `count`.
@safe
@ServiceLoop
final class DatagramQueue: TurnBatch {
    static let shared = DatagramQueue()

    private static let capacity = 64
    private static let capacityOctets = 65_536

    /// Sender of a datagram, retained because it owns the descriptor.
    private enum Sender {
        case socket(DatagramSocket)
        case listener(DatagramListener)
        case none
    }

    private var senders: [(sender: Sender, descriptor: Int32)] = []
    private var octets = 0

    private var failures: [(socket: DatagramSocket, error: SocketError)] = []

    private let buffer = UnsafeMutableRawPointer.allocate(
        byteCount: capacityOctets,
        alignment: 64
    )
    private let names = UnsafeMutablePointer<sockaddr_storage>.allocate(capacity: capacity)
    private let controls = UnsafeMutableRawPointer.allocate(
        byteCount: capacity * Int(DATAGRAM_CONTROL_OCTETS),
        alignment: 16
    )
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: capacity)
    private let headers = UnsafeMutablePointer<datagram_header>.allocate(capacity: capacity)
    private let outgoing = UnsafeMutablePointer<datagram_header>.allocate(capacity: capacity)

    private init() {
        senders.reserveCapacity(Self.capacity)
    }

    private var count: Int { senders.count }

    // MARK: - Queueing

    func add(_ datagram: [UInt8], of socket: DatagramSocket, _ descriptor: Int32) {
        let slot = reserve(datagram, datagram.count)
        unsafe headers[slot].name = nil
        unsafe headers[slot].name_octets = 0
        unsafe headers[slot].control = nil
        unsafe headers[slot].control_octets = 0
        append(.socket(socket), descriptor)
    }

    /// Queues a reply from the destination address of the query.
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
        append(.listener(listener), listener.descriptor)
    }

    /// Copies the first `length` octets of a datagram to the next slot; returns the slot.
    private func reserve(_ datagram: [UInt8], _ length: Int) -> Int {
        precondition(length <= Self.capacityOctets, "a datagram has at most 65,535 octets")
        // Failures are reported in `flush`: a receiver could otherwise queue datagrams before this
        // one.
        if count == Self.capacity || octets + length > Self.capacityOctets { transmit() }
        precondition(count < Self.capacity, "the queue has no free slot")
        let start = unsafe buffer + octets
        unsafe Self.copy(datagram, length, to: start)
        octets += length
        unsafe vectors[count] = iovec(iov_base: start, iov_len: length)
        unsafe headers[count] = datagram_header()
        unsafe headers[count].vectors = UnsafeMutableRawPointer(vectors + count)
        unsafe headers[count].vector_count = 1
        return count
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

    private func append(_ sender: Sender, _ descriptor: Int32) {
        senders.append((sender, descriptor))
        if count == 1 { ServiceLoop.flushLater(self) }
    }

    func drop(_ socket: DatagramSocket) {
        for slot in senders.indices {
            if case .socket(let other) = senders[slot].sender, other === socket {
                senders[slot].sender = .none
            }
        }
    }

    // MARK: - Sending

    /// Sends all datagrams in order, grouped by socket; drops rejected replies.
    ///
    /// Reports failures last, because a receiver may queue more datagrams.
    func flush() {
        transmit()
        let due = failures
        failures = []
        for (socket, error) in due { socket.fail(error) }
    }

    private func transmit() {
        let held = senders
        for slot in held.indices {
            switch senders[slot].sender {
            case .none: continue
            case .listener: _ = send(from: slot, skipsErrors: true)
            case .socket(let socket):
                if let code = send(from: slot, skipsErrors: false) {
                    failures.append((socket, .system(call: "send", code: code)))
                }
            }
        }
        senders.removeAll(keepingCapacity: true)
        octets = 0
        withExtendedLifetime(held) {}
    }

    /// Returns the errno of a failure.
    private func send(from first: Int, skipsErrors: Bool) -> Int32? {
        let descriptor = senders[first].descriptor
        var total = 0
        for slot in first..<count where senders[slot].descriptor == descriptor {
            if case .none = senders[slot].sender { continue }
            unsafe outgoing[total] = headers[slot]
            senders[slot].sender = .none
            total += 1
        }
        var next = 0
        while next < total {
            let sent = unsafe datagrams_send(descriptor, outgoing + next, UInt32(total - next))
            if sent > 0 {
                next += Int(sent)
            } else if sent != -EINTR {
                guard skipsErrors else { return -sent }
                next += 1
            }
        }
        return nil
    }
}

extension DatagramListener {
    /// Queues a reply from the queried address; the kernel may drop the reply.
    ///
    /// - Parameter count: number of octets to send; nil for all octets.
    @ServiceLoop
    package func reply(_ octets: [UInt8], count: Int? = nil, to query: ReceivedDatagram) {
        DatagramQueue.shared.add(octets, count: count ?? octets.count, to: query, of: self)
    }
}
