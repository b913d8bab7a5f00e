// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("Memory limit of the control group")
struct MemoryLimitTests {
    private static let unit = MemoryLimit.ofUnit

    @Test(
        "the limit is in memory.max; without memory.max, a service uses the limit of its unit",
        arguments: [
            ("0::/a.slice/b.service\n", "629145600\n", false, 629_145_600),
            ("0::/a.slice/b.service\n", "max\n", true, nil),
            ("0::/a.slice/b.service\n", nil, true, unit),
            ("0::/a.slice/b.service\n", nil, false, nil),
            ("4:memory:/x\n0::/a.slice/b.service\n", "1048576\n", true, 1 << 20),
            ("4:memory:/a.slice/b.service\n", "1048576\n", true, unit),
            (nil, "1048576\n", true, unit),
        ] as [(String?, String?, Bool, Int?)]
    )
    func limit(_ groups: String?, _ maximum: String?, _ isService: Bool, _ expected: Int?) {
        let limit = MemoryLimit.limit(groups: groups, isService: isService) { folder in
            folder == "/a.slice/b.service" ? maximum : nil
        }
        #expect(limit == expected)
    }

    @Test("the constant for the unit's limit equals `MemoryMax=` in httpdnsd.service")
    func unitFile() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let unit = try String(
            contentsOf: root.appending(path: "systemd/httpdnsd.service"),
            encoding: .utf8
        )
        #expect(unit.contains("\nMemoryMax=\(MemoryLimit.ofUnit >> 20)M\n"))
    }
}
