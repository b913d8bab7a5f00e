// SPDX-License-Identifier: Apache-2.0

/// Something that reads what strangers wrote, and what is promised of it whatever they wrote.
package struct FuzzTarget: Sendable {
    /// The name, which is that of its folders of seeds and findings.
    package let name: String

    /// Reads an input and holds what comes of it to all that is promised.
    ///
    /// - Throws: `Finding`, for a promise that is broken.
    package let check: @Sendable ([UInt8]) throws -> Void
}

extension FuzzTarget {
    /// All of them.
    package static let all = [
        wire, name, cache, upstream, snapshot, settings, varlink,
        tencent, alibabaV1, alibabaV2, baidu, volcengine, json,
    ]
}

/// A promise that is broken.
package struct Finding: Error, CustomStringConvertible {
    /// What is not as promised.
    package let description: String
}

/// Takes note of a promise that is broken.
func promise(
    _ isKept: @autoclosure () throws -> Bool,
    _ description: @autoclosure () -> String
) throws {
    guard try isKept() else { throw Finding(description: description()) }
}

/// An input read from front to back; at its end come zeroes.
struct FuzzInput {
    /// What was not taken yet.
    private(set) var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    /// The next octet.
    mutating func octet() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next two octets as a number.
    mutating func number() -> UInt16 { UInt16(octet()) << 8 | UInt16(octet()) }

    /// That many octets, or fewer if there are no more.
    mutating func octets(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

extension [UInt8] {
    /// Whether these octets follow each other somewhere in it.
    func has(_ octets: some Collection<UInt8>) -> Bool { firstRange(of: octets) != nil }
}
