// SPDX-License-Identifier: Apache-2.0
internal import Locks

/// Registry that gives each answer source (vendor server, upstream) a unique number; thread-safe.
///
/// Numbers are never reused. An upstream that is the fallback of a vendor has an additional number
/// for this vendor. A cache hit on an answer with the additional number counts as an avoided call
/// to the vendor.
package final class AnswerSourceRegistry: Sendable {
    package static let itself: UInt16 = 0

    /// Number that all new sources share when no other number is left.
    ///
    /// A hostile network can use up the numbers by repeatedly announcing new DNS servers.
    /// Therefore, answers with this number count as unprotected answers of the network's servers.
    package static let unknown = UInt16.max

    private struct Origin: Hashable {
        let name: String
        let vendor: String?

        var isSynthesized = false
    }

    private struct Table {
        var origins: [Origin]
        var numbers: [Origin: UInt16]

        var believed: Set<String> = []

        var learnedUpstreams: Set<String> = []

        var unprotectedVendors: Set<String> = []

        init() {
            let itself = Origin(name: "httpdnsd", vendor: nil)
            origins = [itself]
            numbers = [itself: AnswerSourceRegistry.itself]
        }
    }

    private let table = Lock(Table())

    package init() {}

    /// Returns the number of the source `name`; a new source gets a new number.
    ///
    /// Returns ``unknown`` if all numbers are in use.
    ///
    /// - Parameter vendor: for a vendor's server, the vendor; for an upstream that is the fallback
    ///   of a vendor, this vendor; nil for all other sources.
    func number(_ name: String, vendor: String? = nil) -> UInt16 {
        number(of: Origin(name: name, vendor: vendor))
    }

    private func number(of origin: Origin) -> UInt16 {
        table.withLock { table in
            if let known = table.numbers[origin] { return known }
            guard let new = UInt16(exactly: table.origins.count), new < Self.unknown else {
                return Self.unknown
            }
            table.origins.append(origin)
            table.numbers[origin] = new
            return new
        }
    }

    /// Returns the additional number that an upstream has as the fallback of `vendor`.
    ///
    /// - Parameter number: the normal number of this upstream.
    func number(_ number: UInt16, after vendor: String) -> UInt16 {
        self.number(name(number), vendor: vendor)
    }

    func number(synthesizedFrom number: UInt16) -> UInt16 {
        guard var origin = origin(number) else { return number }
        origin.isSynthesized = true
        return self.number(of: origin)
    }

    package func isSynthesized(_ number: UInt16) -> Bool {
        origin(number)?.isSynthesized ?? false
    }

    /// True for a source `VENDOR/fleet/MACHINE`.
    package func isOfFleet(_ number: UInt16) -> Bool {
        guard let origin = origin(number), let vendor = origin.vendor else { return false }
        return origin.name == vendor + "/fleet" || origin.name.hasPrefix(vendor + "/fleet/")
    }

    package func name(_ number: UInt16) -> String { origin(number)?.name ?? "unknown" }

    package func numbers(of source: String) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { index in
                table.origins[index].name.hasPrefix(source + "/")
            }
            return Set(known.compactMap(UInt16.init(exactly:)))
        }
    }

    /// Returns all numbers of the servers with these names, and also the number ``unknown``.
    func numbers(named names: Set<String>) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { names.contains(table.origins[$0].name) }
            return Set(known.compactMap(UInt16.init(exactly:)) + [Self.unknown])
        }
    }

    /// Returns the vendor of the source with this number; nil if the source has no vendor.
    ///
    /// A cache hit on an answer of this source avoids a call to the vendor.
    package func vendor(_ number: UInt16) -> String? { origin(number)?.vendor }

    private func origin(_ number: UInt16) -> Origin? {
        table.withLock { table in
            table.origins.indices.contains(Int(number)) ? table.origins[Int(number)] : nil
        }
    }

    // MARK: - DNSSEC trust

    /// Trusts only these sources to validate DNSSEC.
    package func believe(only names: Set<String>) {
        table.withLock { table in table.believed = names }
    }

    package func isBelieved(labelled label: String) -> Bool {
        let name = label.firstIndex(of: "\t").map { label[label.index(after: $0)...] } ?? label[...]
        return table.withLock { $0.believed.contains(String(name)) }
    }

    // MARK: - Protection

    package func setLearned(upstreams: Set<String>) {
        table.withLock { $0.learnedUpstreams = upstreams }
    }

    /// True for ``unknown``, and for a server that an upstream got from the network or a file.
    func isLearned(_ number: UInt16) -> Bool {
        guard number != Self.unknown else { return true }
        let upstream = name(number).prefix { $0 != "/" }
        return table.withLock { $0.learnedUpstreams.contains(String(upstream)) }
    }

    package func setUnprotected(vendors: Set<String>) {
        table.withLock { $0.unprotectedVendors = vendors }
    }

    /// True for a source of unprotected answers: plain DNS, or a vendor without authentication.
    package func isUnprotected(_ number: UInt16) -> Bool {
        guard number != Self.unknown else { return true }
        let parts = name(number).split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        if parts[1].hasPrefix("udp:") || parts[1].hasPrefix("tcp:") { return true }
        return table.withLock { $0.unprotectedVendors.contains(String(parts[0])) }
    }

    // MARK: - Snapshots

    private static let unknownLabel = "?"

    /// Returns the label that identifies a source in snapshots.
    ///
    /// The vendor and a tab precede the source's name, because a snapshot cuts off the end of a
    /// long label. A leading tab marks answers that DNS64 synthesized.
    package func label(_ number: UInt16) -> String {
        guard let origin = origin(number) else { return Self.unknownLabel }
        let label = origin.vendor.map { "\($0)\t\(origin.name)" } ?? origin.name
        return origin.isSynthesized ? "\t" + label : label
    }

    package func number(labelled label: String) -> UInt16 {
        guard label != Self.unknownLabel else { return Self.unknown }
        guard label.first != "\t" else {
            return number(synthesizedFrom: number(labelled: String(label.dropFirst())))
        }
        guard let tab = label.firstIndex(of: "\t") else { return number(label) }
        return number(String(label[label.index(after: tab)...]), vendor: String(label[..<tab]))
    }
}
