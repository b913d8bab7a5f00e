// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

@ServiceLoop
package protocol DatagramReceiving: AnyObject {
    /// Receives a datagram, which may be empty; `octets` is valid during the call only.
    func received(_ octets: Span<UInt8>)

    /// Reports a failure; the receiver must then close the socket.
    func failed(_ error: SocketError)
}

/// UDP socket with its own port, connected to one peer.
///
/// The kernel drops datagrams from other addresses (RFC 5452 §9.1), and chooses an unpredictable
/// port. Retains the receiver until ``close()``.
@ServiceLoop
package final class DatagramSocket {
    /// Released before `descriptor`, as ``DescriptorWatch`` requires.
    private var watch: DescriptorWatch?
    private var descriptor: OwnedDescriptor?

    private var receiver: (any DatagramReceiving)?

    private var closings = 0

    package init() {
        watch = nil
        descriptor = nil
    }

    package convenience init(
        connectedTo peer: SocketAddress,
        receiver: any DatagramReceiving
    ) throws(SocketError) {
        self.init()
        try open(to: peer, for: receiver)
    }

    package func open(
        to peer: SocketAddress,
        for receiver: any DatagramReceiving
    ) throws(SocketError) {
        precondition(!isOpen, "the socket is open")
        let opened = try OwnedDescriptor.datagrams(to: peer)
        if let watch {
            try watch.resume(on: opened.raw)
        } else {
            // Level-triggered, because an edge-triggered watch would need a further system call to
            // detect an empty receive queue. `unowned` is safe, because the socket owns the watch.
            watch = try DescriptorWatch(opened.raw, .readable) { [unowned self] _ in receive() }
        }
        // Unlike an assignment, `swap` needs no run-time exclusivity check.
        var next: OwnedDescriptor? = consume opened
        swap(&descriptor, &next)
        self.receiver = receiver
    }

    /// Sequence number of the batch (``DatagramQueue``) in which the next datagram is sent.
    package static var batch: Int { DatagramQueue.shared.batch }

    package var isOpen: Bool { number != nil }

    package var localAddress: SocketAddress? {
        number.flatMap { SocketAddress(localOf: $0) }
    }

    /// Queues a datagram, which is sent before the service loop waits; `failed(_:)` reports errors.
    ///
    /// - Throws: ``SocketError/closed`` after ``close()``.
    package func send(_ datagram: [UInt8]) throws(SocketError) {
        DatagramQueue.shared.add(datagram, of: self, try raw)
    }

    /// Queues a datagram of `count` octets; `write` must fill all octets.
    package func send(
        octets count: Int,
        _ write: @ServiceLoop (inout MutableRawSpan) -> Void
    ) throws(SocketError) {
        DatagramQueue.shared.add(count, of: self, try raw, write)
    }

    func fail(_ error: SocketError) { receiver?.failed(error) }

    /// Closes the socket; the receiver is not called again.
    package func close() {
        guard let number else { return }
        DatagramQueue.shared.drop(number, of: self)
        watch?.cancel()
        closings += 1
        _ = descriptor.take()
        receiver = nil
    }

    /// A `throw` in the `switch` would need a run-time exclusivity check.
    private var number: Int32? {
        switch descriptor {
        case .some(let open): open.raw
        case .none: nil
        }
    }

    var raw: Int32 {
        get throws(SocketError) {
            guard let number else { throw .closed }
            return number
        }
    }

    private func receive() {
        guard let number, let receiver else { return }
        let count = ArrivalBuffers.receive(from: number)
        guard count >= 0 else {
            if count != -EAGAIN, count != -EINTR {
                receiver.failed(.system(call: "recv", code: -count))
            }
            return
        }
        let closings = closings
        for slot in 0..<Int(count) {
            // The receiver may have closed the socket in the previous call of `received`.
            guard closings == self.closings else { return }
            ArrivalBuffers.read(slot) { receiver.received($0) }
        }
    }
}

extension OwnedDescriptor {
    static func datagrams(to peer: SocketAddress) throws(SocketError) -> OwnedDescriptor {
        let socket = try socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        var error = socket.connect(to: peer)
        if error == EAGAIN {
            // A local user can hold all ports of `ip_local_port_range`.
            try socket.bindToRandomPort(isIPv6: peer.isIPv6)
            error = socket.connect(to: peer)
        }
        guard error == 0 else { throw .system(call: "connect", code: error) }
        return socket
    }

    private func bindToRandomPort(isIPv6: Bool) throws(SocketError) {
        let octets = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<8 {
            let port = UInt16.random(in: 1024 ... .max, using: &random)
            guard let address = SocketAddress(octets: octets, port: port) else { break }
            if (try? bind(to: address)) != nil { return }
        }
        throw .noPort
    }
}

// SAFETY: all blocks have `count` elements and are never freed. Used on the loop only; uses never
// overlap, because a ``DatagramReceiving`` never calls `receive`.
@safe
@ServiceLoop
private enum ArrivalBuffers {
    private static let count = 8

    /// Longest datagram; the kernel commits only used pages.
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

    static func receive(from descriptor: Int32) -> Int32 {
        unsafe datagrams_receive(descriptor, headers, UInt32(count), Int32(MSG_DONTWAIT))
    }

    static func read(_ slot: Int, _ body: @ServiceLoop (Span<UInt8>) -> Void) {
        let start = unsafe (buffers + slot * capacity).assumingMemoryBound(to: UInt8.self)
        unsafe body(Span(_unsafeStart: start, count: Int(headers[slot].octets)))
    }
}
