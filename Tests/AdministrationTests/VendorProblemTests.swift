// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import Administration

@Suite("Problems of vendors in status")
struct VendorProblemTests {
    private static func vendor(_ state: HealthStatus, second: HealthStatus) -> VendorStatus {
        var vendor = VendorStatus(name: "t", kind: "tencent", channel: "https")
        var first = VendorServer(address: "192.0.2.1", current: true)
        first.state = .down
        first.lastError = "timed out"
        var other = VendorServer(address: "192.0.2.2", current: false)
        other.state = second
        vendor.servers = [first, other]
        vendor.state = state
        return vendor
    }

    @Test("`status` does not report a vendor as unresponsive while one of its servers works")
    func degraded() {
        #expect(
            Self.vendor(.degraded, second: .up).problem
                == "vendor t: 1 of 2 servers failed: timed out"
        )
        #expect(Self.vendor(.down, second: .down).problem == "vendor t: not responding: timed out")
    }
}
