// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// Whoever is told what comes to a ``DatagramSocket``.
@ServiceLoop
package protocol DatagramReceiving: AnyObject {
    /// A datagram has come; an empty one is a datagram, too.
    ///
    /// - Parameter octets: at most 65 535, only for the time of the call.
    func received(_ octets: Span<UInt8>)

    /// The socket is of no use any more: nothing will come.
    func failed(_ error: SocketError)
}

/// A UDP socket of our own to one peer.
///
/// Connected, so the kernel drops what comes from any other address (RFC 5452 §9.1), chooses an
/// unpredictable port, and tells of ICMP errors: a closed port is ECONNREFUSED.
///
/// What comes is handed on where it was received, several datagrams a system call: nobody waits on
/// the socket itself, so there is no task to wake and nothing to copy.
@ServiceLoop
package final class DatagramSocket {
    /// The descriptor, nil once closed.
    private var descriptor: OwnedDescriptor?
    private var watch: DescriptorWatch?

    /// Told of everything; not kept alive by this.
    private weak var receiver: (any DatagramReceiving)?

    /// Opens a socket to `peer`; sends nothing.
    ///
    /// - Throws: `SocketError.system` with the call that failed.
    package init(
        connectedTo peer: SocketAddress,
        receiver: any DatagramReceiving
    ) throws(SocketError) {
        self.receiver = receiver
        let opened = try OwnedDescriptor.socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        // SAFETY: the pointer is valid during the call.
        let status = unsafe peer.withSockaddr { unsafe Glibc.connect(opened.raw, $0, $1) }
        guard status == 0 else { throw .last("connect") }
        let raw = opened.raw
        descriptor = consume opened
        watch = nil
        // Level-triggered: what one call did not take is reported again, so that no call is made
        // only to hear that there is nothing more.
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in self?.receive() }
    }

    isolated deinit { close() }

    /// The address the kernel chose for this end; nil once closed.
    package var localAddress: SocketAddress? { descriptor?.localAddress }

    /// Sends one datagram without waiting: a full send buffer is an error, like any loss.
    ///
    /// - Throws: `SocketError.closed`, or `system`, which may be about an earlier datagram.
    package func send(_ datagram: [UInt8]) throws(SocketError) {
        let raw = try raw
        while true {
            // SAFETY: exactly the array's octets are read.
            let count = unsafe Glibc.send(raw, datagram, datagram.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return }
            guard errno == EINTR else { throw .last("send") }
        }
    }

    /// Closes the socket; nothing is told any more.
    package func close() {
        watch?.cancel()
        watch = nil
        descriptor = nil
    }

    /// The descriptor's number, for a system call.
    private var raw: Int32 {
        get throws(SocketError) {
            switch descriptor {
            case .some(let open): return open.raw
            case .none: throw .closed
            }
        }
    }

    /// Hands on what is there.
    private func receive() {
        guard let raw = try? raw else { return }
        let count = ArrivalBuffers.receive(from: raw)
        guard count >= 0 else {
            if count != -EAGAIN, count != -EINTR {
                receiver?.failed(.system(call: "recv", code: -count))
            }
            return
        }
        for slot in 0..<Int(count) {
            // The one before may have been the last that was waited for.
            guard descriptor != nil else { return }
            ArrivalBuffers.read(slot) { receiver?.received($0) }
        }
    }
}

/// Buffers into which every such socket receives, as all of them are read on one thread.
// SAFETY: all blocks have `count` elements, are allocated once and never freed, and are used on the
// loop only: by one call at a time, as nothing that is told of a datagram receives.
@safe
@ServiceLoop
private enum ArrivalBuffers {
    /// Datagrams a system call.
    private static let count = 8

    /// Octets of the longest datagram; of a buffer's memory only what was ever used is there.
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

    /// Receives what is there, at most as many as there are buffers.
    ///
    /// - Returns: how many, or a negated errno.
    static func receive(from descriptor: Int32) -> Int32 {
        unsafe datagrams_receive(descriptor, headers, UInt32(count), Int32(MSG_DONTWAIT))
    }

    /// Lets `body` read the datagram in `slot`.
    static func read(_ slot: Int, _ body: @ServiceLoop (Span<UInt8>) -> Void) {
        let start = unsafe (buffers + slot * capacity).assumingMemoryBound(to: UInt8.self)
        unsafe body(Span(_unsafeStart: start, count: Int(headers[slot].octets)))
    }
}
