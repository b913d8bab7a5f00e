// SPDX-License-Identifier: Apache-2.0

/// Value of a `Date` header in IMF-fixdate form (RFC 9110 §5.6.7); the weekday is not checked.
package struct HTTPDate: Sendable, Hashable {
    /// Seconds since 1970.
    package let seconds: Int64

    /// Parses text such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package init?(_ text: String) {
        let octets = [UInt8](text.utf8)
        guard octets.count == 29,
            Self.weekdays.contains(Self.word(octets[0..<3])), octets[3] == UInt8(ascii: ","),
            [4, 7, 11, 16, 25].allSatisfy({ octets[$0] == UInt8(ascii: " ") }),
            octets[19] == UInt8(ascii: ":"), octets[22] == UInt8(ascii: ":"),
            Self.word(octets[26..<29]) == "GMT",
            let day = Self.number(octets[5..<7]),
            let month = Self.months.firstIndex(of: Self.word(octets[8..<11])).map({ $0 + 1 }),
            let year = Self.number(octets[12..<16]), year >= 1970,
            let hour = Self.number(octets[17..<19]), hour < 24,
            let minute = Self.number(octets[20..<22]), minute < 60,
            // 60 is a leap second and counts as the next second.
            let second = Self.number(octets[23..<25]), second <= 60,
            (1...Self.length(of: month, in: year)).contains(day)
        else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        seconds = Int64(((days * 24 + hour) * 60 + minute) * 60 + second)
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func word(_ octets: ArraySlice<UInt8>) -> String {
        String(decoding: octets, as: UTF8.self)
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> Int? {
        octets.reduce(Optional(0)) { value, octet in
            guard let value, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) else {
                return nil
            }
            return value * 10 + Int(octet - UInt8(ascii: "0"))
        }
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func length(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func days(year: Int, month: Int, day: Int) -> Int {
        let past = year - 1
        let untilYear = past * 365 + past / 4 - past / 100 + past / 400 - 719_162
        let untilMonth = (1..<month).reduce(0) { $0 + length(of: $1, in: year) }
        return untilYear + untilMonth + day - 1
    }
}
