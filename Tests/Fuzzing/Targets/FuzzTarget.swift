// SPDX-License-Identifier: Apache-2.0

/// A parser of untrusted input, and the invariants of its results.
package struct FuzzTarget: Sendable {
    /// The name of the target and of its folders of seeds and findings.
    package let name: String

    /// Parses an input and checks all invariants of the result.
    ///
    /// - Throws: `Finding` for a broken invariant.
    package let check: @Sendable ([UInt8]) throws -> Void
}

extension FuzzTarget {
    /// All targets.
    package static let all = [
        wire, name, cache, upstream, snapshot, settings, varlink,
        tencent, alibabaV1, alibabaV2, baidu, volcengine, json,
    ]
}

/// A broken invariant.
package struct Finding: Error, CustomStringConvertible {
    /// Description of the broken invariant.
    package let description: String
}

/// Throws a `Finding` if an invariant is broken.
func promise(
    _ isKept: @autoclosure () throws -> Bool,
    _ description: @autoclosure () -> String
) throws {
    guard try isKept() else { throw Finding(description: description()) }
}

/// An input that is consumed from the front; after its end it yields zeros.
struct FuzzInput {
    /// The octets that were not consumed yet.
    private(set) var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    /// Consumes the next octet.
    mutating func octet() -> UInt8 { rest.popFirst() ?? 0 }

    /// Consumes the next two octets as a number.
    mutating func number() -> UInt16 { UInt16(octet()) << 8 | UInt16(octet()) }

    /// Consumes up to `count` octets.
    mutating func octets(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

extension [UInt8] {
    /// Returns true if the collection contains these octets as a sequence.
    func has(_ octets: some Collection<UInt8>) -> Bool { firstRange(of: octets) != nil }
}
