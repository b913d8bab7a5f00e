// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPDNS

@Suite("The vendor's clock")
struct SkewTests {
    @Test(
        "a Date header is an instant (RFC 9110 §5.6.7)",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Fri, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ]
    )
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(
        "what is no IMF-fixdate, or no day, is none",
        arguments: [
            "", "now", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 6 Nov 1994 08:49:37 GMT", "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT",
            "Mon, 29 Feb 2100 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08-49:37 GMT", "Sun, 06 Nov 19é 08:49:37 GMT",
        ]
    )
    func noDates(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test(
        "a refusal is worth another signature only if the clocks disagree by more than two seconds"
    )
    func repair() {
        let skew = ClockSkew()
        #expect(skew.repair(used: 0, vendorSeconds: 1_002, wallSeconds: 1_000) == nil)
        #expect(skew.repair(used: 0, vendorSeconds: 998, wallSeconds: 1_000) == nil)
        #expect(skew.repair(used: 0, vendorSeconds: 1_003, wallSeconds: 1_000) == 3)
        #expect(skew.repair(used: 0, vendorSeconds: 400, wallSeconds: 1_000) == -600)
        #expect(skew.repair(used: 600, vendorSeconds: 1_600, wallSeconds: 1_000) == nil)
        #expect(skew.repair(used: 600, vendorSeconds: 1_000, wallSeconds: 1_000) == 0)
    }

    @Test("absurd clocks are no reason to trap")
    func absurd() {
        let skew = ClockSkew()
        #expect(skew.repair(used: 0, vendorSeconds: .max, wallSeconds: -1) == nil)
        #expect(skew.repair(used: .min, vendorSeconds: 5, wallSeconds: 0) == nil)
    }

    @Test("only an accepted request makes an offset the next one's")
    func kept() {
        var skew = ClockSkew()
        _ = skew.repair(used: 0, vendorSeconds: 4_600, wallSeconds: 1_000)
        #expect(skew.vendorSeconds(at: 1_000) == 1_000)
        skew.repaired(with: 3_600)
        #expect(skew.vendorSeconds(at: 1_000) == 4_600)
        #expect(skew.repairs == 1)
    }
}
