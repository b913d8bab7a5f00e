// SPDX-License-Identifier: Apache-2.0

package struct ReplyOptions: Sendable, Equatable {
    /// Client cookie in network order, and server cookie; nil for no cookie (RFC 7873 §5.2.3).
    package var cookies: (client: UInt64, server: ServerCookie)?

    /// Idle timeout in units of 100 ms (RFC 7828 §3.3.2); nil over UDP.
    package var keepalive: UInt16?

    package init() {}

    package static func == (left: ReplyOptions, right: ReplyOptions) -> Bool {
        left.keepalive == right.keepalive && left.cookies?.client == right.cookies?.client
            && left.cookies?.server == right.cookies?.server
    }

    var isEmpty: Bool { cookies == nil && keepalive == nil }

    var octetCount: Int {
        (cookies == nil ? 0 : 12 + ServerCookie.octetCount) + (keepalive == nil ? 0 : 6)
    }

    func write(in buffer: inout MutableRawSpan, at offset: inout Int) {
        if let cookies {
            buffer.store(EDNSOption.Code.cookie, at: offset)
            buffer.store(UInt16(8 + ServerCookie.octetCount), at: offset + 2)
            buffer.store(cookies.client, at: offset + 4)
            buffer.store(cookies.server.head, at: offset + 12)
            buffer.store(cookies.server.hash, at: offset + 20)
            offset += 12 + ServerCookie.octetCount
        }
        if let keepalive {
            buffer.store(EDNSOption.Code.keepalive, at: offset)
            buffer.store(UInt16(2), at: offset + 2)
            buffer.store(keepalive, at: offset + 4)
            offset += 6
        }
    }
}
