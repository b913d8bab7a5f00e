// SPDX-License-Identifier: Apache-2.0
internal import Glibc

package struct ReceivedDatagram: Sendable {
    package private(set) var octets: [UInt8]
    let client: sockaddr_storage
    let clientCount: UInt32

    /// Destination address; empty for a socket bound to one address.
    let control: [UInt8]

    package var withoutOctets: ReceivedDatagram {
        var datagram = self
        datagram.octets = []
        return datagram
    }
}

extension DatagramListener {
    /// Sends a reply from the queried address without blocking; returns false on failure.
    @discardableResult
    package func send(_ octets: [UInt8], inReplyTo query: ReceivedDatagram) -> Bool {
        var name = query.client
        var vector = unsafe iovec()
        var message = unsafe msghdr()
        // SAFETY: all blocks outlive the system call, and the counts match the blocks.
        return unsafe withUnsafeMutablePointer(to: &name) { name in
            unsafe octets.withUnsafeBytes { octets in
                unsafe query.control.withUnsafeBytes { control in
                    unsafe withUnsafeMutablePointer(to: &vector) { vector in
                        unsafe vector.pointee.iov_base = UnsafeMutableRawPointer(
                            mutating: octets.baseAddress
                        )
                        unsafe vector.pointee.iov_len = octets.count
                        unsafe message.msg_name = UnsafeMutableRawPointer(name)
                        unsafe message.msg_namelen = query.clientCount
                        unsafe message.msg_iov = vector
                        unsafe message.msg_iovlen = 1
                        unsafe message.msg_control = UnsafeMutableRawPointer(
                            mutating: control.isEmpty ? nil : control.baseAddress
                        )
                        unsafe message.msg_controllen = control.count
                        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
                        return unsafe sendmsg(descriptor, &message, flags) >= 0
                    }
                }
            }
        }
    }
}
