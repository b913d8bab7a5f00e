// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Net

@Suite("Path MTU discovery of a listener (RFC 9715 §3.1)")
struct FragmentTests {
    @Test(arguments: [("127.0.0.1:0", IPPROTO_IP, 10), ("[::1]:0", IPPROTO_IPV6, 23)])
    func `path MTU discovery is off, so forged ICMP hints have no effect`(
        _ text: String,
        _ level: Int,
        _ option: Int32
    ) throws {
        let listener = try DatagramListener(
            binding: try #require(SocketAddress(text)),
            shared: false
        )
        var value: Int32 = -1
        var count = socklen_t(MemoryLayout<Int32>.size)
        #expect(getsockopt(listener.descriptor, Int32(level), option, &value, &count) == 0)
        // IP_PMTUDISC_OMIT and IPV6_PMTUDISC_OMIT of <linux/in.h>.
        #expect(value == 5)
    }
}
