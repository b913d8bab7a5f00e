// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

@ServiceLoop
package protocol DatagramReceiving: AnyObject {
    /// Receives a datagram, which may be empty; `octets` is valid during the call only.
    func received(_ octets: Span<UInt8>)

    /// Reports a failure; no further call follows.
    func failed(_ error: SocketError)
}

/// UDP socket with its own port, connected to one peer.
///
/// The kernel drops datagrams from other addresses (RFC 5452 §9.1), chooses an unpredictable port,
/// and reports ICMP errors: a closed port is ECONNREFUSED.
///
/// Retains the receiver until ``close()``.
@ServiceLoop
package final class DatagramSocket {
    /// Released before `descriptor`, as ``DescriptorWatch`` requires.
    private var watch: DescriptorWatch?
    private var descriptor: OwnedDescriptor?

    private var receiver: (any DatagramReceiving)?

    package init(
        connectedTo peer: SocketAddress,
        receiver: any DatagramReceiving
    ) throws(SocketError) {
        let opened = try OwnedDescriptor.socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        let error = opened.connect(to: peer)
        guard error == 0 else { throw .system(call: "connect", code: error) }
        let raw = opened.raw
        descriptor = consume opened
        watch = nil
        self.receiver = receiver
        // Level-triggered: detecting an empty queue needs no system call. `unowned`, because the
        // socket owns the watch.
        watch = try DescriptorWatch(raw, .readable) { [unowned self] _ in receive() }
    }

    /// Bound address; nil once closed.
    package var localAddress: SocketAddress? { descriptor?.localAddress }

    /// Queues a datagram, which is sent at the end of the loop iteration.
    ///
    /// The receiver gets send errors; throws ``SocketError/closed`` after ``close()``.
    package func send(_ datagram: [UInt8]) throws(SocketError) {
        DatagramQueue.shared.add(datagram, of: self, try raw)
    }

    func fail(_ error: SocketError) {
        if descriptor != nil { receiver?.failed(error) }
    }

    /// Closes the socket; the receiver is not called again.
    package func close() {
        if let raw = try? raw { DatagramQueue.shared.drop(raw) }
        watch?.cancel()
        watch = nil
        descriptor = nil
        receiver = nil
    }

    var raw: Int32 {
        get throws(SocketError) {
            switch descriptor {
            case .some(let open): return open.raw
            case .none: throw .closed
            }
        }
    }

    private func receive() {
        guard let raw = try? raw, let receiver else { return }
        let count = ArrivalBuffers.receive(from: raw)
        guard count >= 0 else {
            if count != -EAGAIN, count != -EINTR {
                receiver.failed(.system(call: "recv", code: -count))
            }
            return
        }
        for slot in 0..<Int(count) {
            // The receiver may have closed the socket in the previous call of `received`.
            guard descriptor != nil else { return }
            ArrivalBuffers.read(slot) { receiver.received($0) }
        }
    }
}

// SAFETY: all blocks have `count` elements and are never freed. Used on the loop only; uses never
// overlap, because a ``DatagramReceiving`` never calls `receive`.
@safe
@ServiceLoop
private enum ArrivalBuffers {
    private static let count = 8

    /// Longest datagram in octets; the kernel commits only used pages.
    private static let capacity = 65_535

    private static let buffers = UnsafeMutableRawPointer.allocate(
        byteCount: count * capacity,
        alignment: 64
    )
    private static let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: count)
    private static let headers: UnsafeMutablePointer<datagram_header> = {
        let headers = UnsafeMutablePointer<datagram_header>.allocate(capacity: count)
        for slot in 0..<count {
            unsafe (vectors + slot).initialize(
                to: iovec(iov_base: buffers + slot * capacity, iov_len: capacity)
            )
            var header = unsafe datagram_header()
            unsafe header.vectors = UnsafeMutableRawPointer(vectors + slot)
            unsafe header.vector_count = 1
            unsafe (headers + slot).initialize(to: header)
        }
        return unsafe headers
    }()

    /// Receives up to `count` datagrams without waiting; returns their number or a negated errno.
    static func receive(from descriptor: Int32) -> Int32 {
        unsafe datagrams_receive(descriptor, headers, UInt32(count), Int32(MSG_DONTWAIT))
    }

    static func read(_ slot: Int, _ body: @ServiceLoop (Span<UInt8>) -> Void) {
        let start = unsafe (buffers + slot * capacity).assumingMemoryBound(to: UInt8.self)
        unsafe body(Span(_unsafeStart: start, count: Int(headers[slot].octets)))
    }
}
