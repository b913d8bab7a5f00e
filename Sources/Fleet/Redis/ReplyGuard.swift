// SPDX-License-Identifier: Apache-2.0

/// Bounds of replies, which are checked before hiredis sees an octet.
///
/// hiredis allocates as much memory as a length in the reply announces.
struct ReplyGuard: Sendable {
    private enum State: Sendable {
        /// The next octet is the type of an element.
        case type

        /// In a line without a length: status, error or integer.
        case text(octets: Int, isEnding: Bool)

        /// In a length of a string or list.
        case length(isList: Bool, value: Int, octets: Int)

        /// In a string; the end of line follows it.
        case string(left: Int)
    }

    private var state = State.type

    /// Elements until the end of the reply.
    private var left = 1

    /// Elements and octets of the reply so far.
    private var elements = 0
    private var octets = 0

    /// Checks the next octets of a connection.
    mutating func check(_ input: [UInt8]) throws(EngineError) {
        var index = 0
        while index < input.count {
            if case .string(let rest) = state {
                let count = min(rest, input.count - index)
                index += count
                try add(count)
                if count == rest { try end() } else { state = .string(left: rest - count) }
                continue
            }
            try take(input[index])
            index += 1
        }
    }

    private mutating func take(_ octet: UInt8) throws(EngineError) {
        try add(1)
        switch state {
        case .type:
            switch octet {
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"):
                state = .text(octets: 0, isEnding: false)
            case UInt8(ascii: "$"): state = .length(isList: false, value: 0, octets: 0)
            case UInt8(ascii: "*"): state = .length(isList: true, value: 0, octets: 0)
            default: throw .unexpected("the reply has an unknown type")
            }
        case .text(let count, let isEnding):
            guard count < FleetLimits.lineOctets else { throw .unexpected("a line is too long") }
            // A line that ends differently for hiredis would let later octets pass unchecked.
            guard isEnding == (octet == UInt8(ascii: "\n")) else {
                throw .unexpected("a line of the reply has an invalid end")
            }
            let isCarriageReturn = octet == UInt8(ascii: "\r")
            if isEnding {
                try end()
            } else {
                state = .text(octets: count + 1, isEnding: isCarriageReturn)
            }
        case .length(let isList, let value, let count):
            try takeLength(octet, isList: isList, value, count)
        case .string: break
        }
    }

    private mutating func takeLength(
        _ octet: UInt8,
        isList: Bool,
        _ value: Int,
        _ count: Int
    ) throws(EngineError) {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9") where value >= 0 && count < 6:
            let digit = Int(octet - UInt8(ascii: "0"))
            state = .length(isList: isList, value: 10 * value + digit, octets: count + 1)
        // -1 means none.
        case UInt8(ascii: "-") where count == 0:
            state = .length(isList: isList, value: -1, octets: 1)
        case UInt8(ascii: "1") where value == -1 && count == 1:
            state = .length(isList: isList, value: -1, octets: 2)
        case UInt8(ascii: "\r") where 1...6 ~= count && (value >= 0 || count == 2):
            state = .length(isList: isList, value: value, octets: 7)
        case UInt8(ascii: "\n") where count == 7:
            try start(isList: isList, value)
        default: throw .unexpected("the reply has an invalid length")
        }
    }

    /// Begins a string or list with `count` octets or elements.
    private mutating func start(isList: Bool, _ count: Int) throws(EngineError) {
        if isList {
            guard elements + left + count <= FleetLimits.replyElements else {
                throw .unexpected("the reply has too many elements")
            }
            left += max(0, count)
            try end()
        } else if count < 0 {
            try end()
        } else {
            guard count <= FleetLimits.valueOctets else {
                throw .unexpected("a value of the reply is too long")
            }
            state = .string(left: count + 2)
        }
    }

    /// Ends an element; after the last one, the next reply begins.
    private mutating func end() throws(EngineError) {
        state = .type
        left -= 1
        elements += 1
        guard left == 0 else { return }
        self = ReplyGuard()
    }

    private mutating func add(_ count: Int) throws(EngineError) {
        octets += count
        guard octets <= FleetLimits.replyOctets else {
            throw .unexpected("the reply is too long")
        }
    }
}
