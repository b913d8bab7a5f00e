// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension Name: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            fatalError("\(text): \(error)")
        }
    }
}

extension IPv4Address: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        guard let address = IPv4Address(text) else { fatalError(text) }
        self = address
    }
}

extension IPv6Address: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        guard let address = IPv6Address(text) else { fatalError(text) }
        self = address
    }
}

func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.map { character -> UInt8 in
        guard let digit = character.hexDigitValue else { fatalError("not a digit: \(character)") }
        return UInt8(digit)
    }
    precondition(digits.count.isMultiple(of: 2), "an octet has two digits")
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

func two(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }

func header(_ questions: Int, _ answers: Int, _ authorities: Int, _ additionals: Int) -> [UInt8] {
    hex("1234 8180") + two(questions) + two(answers) + two(authorities) + two(additionals)
}

func record(_ name: [UInt8], _ type: Int, _ data: [UInt8], recordClass: Int = 1) -> [UInt8] {
    name + two(type) + two(recordClass) + hex("0000 012C") + two(data.count) + data
}
