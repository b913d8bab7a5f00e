// SPDX-License-Identifier: Apache-2.0

package struct FuzzTarget: Sendable {
    package let name: String

    /// Throws a `Finding` if the input violates a property of the target.
    package let check: @Sendable ([UInt8]) throws -> Void
}

extension FuzzTarget {
    package static let all = [
        wire, name, cache, upstream, snapshot, settings, varlink, redis,
        tencent, alibabaV1, alibabaV2, baidu, volcengine, json,
    ]
}

package struct Finding: Error, CustomStringConvertible {
    package let description: String
}

func promise(
    _ isKept: @autoclosure () throws -> Bool,
    _ description: @autoclosure () -> String
) throws { guard try isKept() else { throw Finding(description: description()) } }

/// Input that is read from the front; reads after the end return 0.
struct FuzzInput {
    private(set) var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    mutating func octet() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number() -> UInt16 { UInt16(octet()) << 8 | UInt16(octet()) }

    mutating func octets(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

extension [UInt8] {
    func has(_ octets: some Collection<UInt8>) -> Bool { firstRange(of: octets) != nil }
}
