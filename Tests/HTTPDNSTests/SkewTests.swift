// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPDNS

@Suite("Clock offset to the vendor")
struct SkewTests {
    @Test(
        "a Date header is parsed (RFC 9110 §5.6.7)",
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
        "a date that is not an IMF-fixdate, or an impossible day, is rejected",
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
        "a refused request is signed again only if the clocks differ by more than 2 s"
    )
    func repair() {
        #expect(repair(0, vendor: 1_002) == .none)
        #expect(repair(0, vendor: 998) == .none)
        #expect(repair(0, vendor: 1_003) == .sign(3))
        #expect(repair(0, vendor: 400) == .sign(-600))
        #expect(repair(600, vendor: 1_600) == .none)
        #expect(repair(600, vendor: 1_000) == .sign(0))
    }

    private func repair(
        _ used: Int64,
        vendor: Int64,
        ours: Int64 = 1_000,
        usesTLS: Bool = true
    ) -> ClockSkew.Repair {
        let limit = ClockSkew.limit(usesTLS: usesTLS)
        return ClockSkew().repair(
            used: used,
            vendorSeconds: vendor,
            wallSeconds: ours,
            limit: limit
        )
    }

    @Test("the largest clock correction is a day over TLS, and ten minutes without TLS")
    func bounds() {
        for (usesTLS, limit) in [(true, 86_400), (false, 600)] as [(Bool, Int64)] {
            for sign: Int64 in [1, -1] {
                let (most, more) = (sign * limit, sign * (limit + 1))
                #expect(repair(0, vendor: 1_000 + most, usesTLS: usesTLS) == .sign(most))
                #expect(repair(0, vendor: 1_000 + more, usesTLS: usesTLS) == .refused(more))
            }
        }
    }

    @Test("after ten minutes, one request without the clock offset is sent")
    func retest() {
        let epoch = Instant(nanoseconds: 0)
        var skew = ClockSkew()
        skew.repaired(with: 300, at: epoch)
        #expect(skew.next(at: epoch + .seconds(599)) == (300, false))
        #expect(skew.next(at: epoch + .seconds(600)) == (0, true))
        #expect(skew.next(at: epoch + .seconds(600)) == (300, false))
        skew.accepted(with: 300)
        #expect(skew.offset == 300)
        skew.accepted(with: 0)
        #expect(skew.offset == nil)
    }

    @Test("an offset above the limit is reported once, and again only after an accepted request")
    func refusedOffset() {
        var skew = ClockSkew()
        let news = [skew.refused(90_000), skew.refused(90_001)]
        #expect(news == [true, false])
        #expect(skew.refusedOffset == 90_001)
        skew.accepted(with: 0)
        #expect(skew.refusedOffset == nil)
        let isNews = skew.refused(90_000)
        #expect(isNews)
    }

    @Test("extreme clock values cause no crash")
    func absurd() {
        #expect(repair(0, vendor: .max, ours: -1) == .none)
        #expect(repair(.min, vendor: 5, ours: 0) == .none)
        #expect(repair(0, vendor: .min, ours: 0) == .refused(.min))
    }

    @Test("a clock offset that the vendor accepted is stored, and the correction is counted")
    func kept() {
        var skew = ClockSkew()
        #expect(skew.offset == nil)
        skew.repaired(with: 3_600, at: Instant(nanoseconds: 0))
        #expect(skew.offset == 3_600)
        #expect(skew.repairs == 1)
    }
}
