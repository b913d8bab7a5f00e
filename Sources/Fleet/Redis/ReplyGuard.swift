// SPDX-License-Identifier: Apache-2.0

/// Filter that checks the lengths in replies before hiredis parses them.
///
/// hiredis allocates as much memory as a length announces. A string that is too long becomes a nil
/// reply (`$-1`). It causes no error, because an error ends the connection, and any client of Redis
/// can publish a long message.
struct ReplyGuard: Sendable {
    private enum State: Sendable {
        case type

        case text(octets: Int, isEnding: Bool)

        case length(isList: Bool, value: Int, octets: Int)

        /// Inside a string, or inside the CRLF after a string.
        case string(left: Int)

        case skipped(left: Int)
    }

    /// Octets of a length that is not checked yet; hiredis gets only checked lengths.
    private var line: [UInt8] = []

    private var state = State.type

    private var left = 1

    private var elements = 0
    private var octets = 0

    /// Checks the next octets of a connection; returns the octets for hiredis.
    mutating func check(_ input: [UInt8]) throws(EngineError) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(input.count)
        var index = 0
        while index < input.count {
            switch state {
            case .string(let rest):
                let count = min(rest, input.count - index)
                output += input[index..<index + count]
                index += count
                try add(count)
                if count == rest { end() } else { state = .string(left: rest - count) }
            case .skipped(let rest):
                let count = min(rest, input.count - index)
                index += count
                if count == rest { end() } else { state = .skipped(left: rest - count) }
            case .type, .text, .length:
                line.append(input[index])
                try take(input[index])
                index += 1
                if case .length = state { continue }
                output += line
                line = []
            }
        }
        return output
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
            // hiredis and this filter must agree where lines end; otherwise, hiredis would parse
            // lengths that the filter has not checked.
            guard isEnding == (octet == UInt8(ascii: "\n")) else {
                throw .unexpected("a line of the reply has an invalid end")
            }
            let isCarriageReturn = octet == UInt8(ascii: "\r")
            if isEnding {
                end()
            } else {
                state = .text(octets: count + 1, isEnding: isCarriageReturn)
            }
        case .length(let isList, let value, let count):
            try takeLength(octet, isList: isList, value, count)
        case .string, .skipped: break
        }
    }

    private mutating func takeLength(
        _ octet: UInt8,
        isList: Bool,
        _ value: Int,
        _ count: Int
    ) throws(EngineError) {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9") where value >= 0 && count < 7:
            let digit = Int(octet - UInt8(ascii: "0"))
            state = .length(isList: isList, value: 10 * value + digit, octets: count + 1)
        // A length of -1 means nil.
        case UInt8(ascii: "-") where count == 0:
            state = .length(isList: isList, value: -1, octets: 1)
        case UInt8(ascii: "1") where value == -1 && count == 1:
            state = .length(isList: isList, value: -1, octets: 2)
        case UInt8(ascii: "\r") where 1...7 ~= count && (value >= 0 || count == 2):
            state = .length(isList: isList, value: value, octets: 8)
        case UInt8(ascii: "\n") where count == 8: try start(isList: isList, value)
        default: throw .unexpected("the reply has an invalid length")
        }
    }

    private mutating func start(isList: Bool, _ count: Int) throws(EngineError) {
        if isList {
            guard elements + left + count <= FleetLimits.replyElements else {
                throw .unexpected("the reply has too many elements")
            }
            left += max(0, count)
            end()
        } else if count < 0 {
            end()
        } else if count <= FleetLimits.valueOctets + 1 {
            state = .string(left: count + 2)
        } else {
            guard count <= FleetLimits.skippedOctets else {
                throw .unexpected("a value of the reply is too long")
            }
            line = Array("$-1\r\n".utf8)
            state = .skipped(left: count + 2)
        }
    }

    private mutating func end() {
        state = .type
        left -= 1
        elements += 1
        guard left == 0 else { return }
        (left, elements, octets) = (1, 0, 0)
    }

    private mutating func add(_ count: Int) throws(EngineError) {
        octets += count
        guard octets <= FleetLimits.replyOctets else { throw .unexpected("the reply is too long") }
    }
}
