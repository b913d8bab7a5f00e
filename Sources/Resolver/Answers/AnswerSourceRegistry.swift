// SPDX-License-Identifier: Apache-2.0
internal import Locks

/// Registry of answer sources (vendor servers, upstreams) by number; thread-safe.
///
/// A cache entry contains the number of its source. Numbers are never reused. An upstream has an
/// additional number for each vendor for which it answers as fallback. A cache hit on an answer
/// with this additional number counts as an avoided call of the vendor.
package final class AnswerSourceRegistry: Sendable {
    /// Number of this daemon, the source of local answers.
    package static let itself: UInt16 = 0

    /// Number that all further sources share after all other numbers are in use.
    ///
    /// A hostile network can use up the numbers by repeatedly announcing new DNS servers. Answers
    /// with this number therefore count as unprotected answers of the network's servers, and are
    /// removed after each network change.
    package static let unknown = UInt16.max

    /// Answer source, and the vendor whose call a cache hit avoids.
    private struct Origin: Hashable {
        let name: String
        let vendor: String?

        /// True for answers that DNS64 synthesized from answers of this source.
        var isSynthesized = false
    }

    private struct Table {
        var origins: [Origin]
        var numbers: [Origin: UInt16]

        var believed: Set<String> = []

        /// Names of the upstreams that get their servers from the network or a file.
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

    /// Returns the number of the source `name`; registers the source if it is new.
    ///
    /// If all numbers are in use, the result is ``unknown``.
    ///
    /// - Parameter vendor: the vendor of a server, or the vendor for which an upstream is the
    ///   fallback.
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

    /// Returns the number of an upstream as the fallback of `vendor`.
    func number(_ number: UInt16, after vendor: String) -> UInt16 {
        self.number(name(number), vendor: vendor)
    }

    func number(synthesizedFrom number: UInt16) -> UInt16 {
        guard var origin = origin(number) else { return number }
        origin.isSynthesized = true
        return self.number(of: origin)
    }

    /// True if DNS64 synthesized the answers with this number.
    package func isSynthesized(_ number: UInt16) -> Bool {
        origin(number)?.isSynthesized ?? false
    }

    /// True for `VENDOR/fleet/MACHINE`: answers of the vendor that another machine shared.
    package func isOfFleet(_ number: UInt16) -> Bool {
        guard let origin = origin(number), let vendor = origin.vendor else { return false }
        return origin.name == vendor + "/fleet" || origin.name.hasPrefix(vendor + "/fleet/")
    }

    package func name(_ number: UInt16) -> String { origin(number)?.name ?? "unknown" }

    /// Returns the numbers of all servers of a vendor or an upstream.
    package func numbers(of source: String) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { index in
                table.origins[index].name.hasPrefix(source + "/")
            }
            return Set(known.compactMap(UInt16.init(exactly:)))
        }
    }

    /// Returns the numbers of the servers with these names, and ``unknown``.
    ///
    /// A server that is also the fallback of a vendor has further numbers, which are included.
    func numbers(named names: Set<String>) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { names.contains(table.origins[$0].name) }
            return Set(known.compactMap(UInt16.init(exactly:)) + [Self.unknown])
        }
    }

    /// Returns the vendor whose call a cache hit of this source avoids; nil if it avoids none.
    package func vendor(_ number: UInt16) -> String? { origin(number)?.vendor }

    private func origin(_ number: UInt16) -> Origin? {
        table.withLock { table in
            table.origins.indices.contains(Int(number)) ? table.origins[Int(number)] : nil
        }
    }

    // MARK: - DNSSEC trust

    /// Trusts the DNSSEC validation of these sources only; applies also to answers of a snapshot.
    package func believe(only names: Set<String>) {
        table.withLock { table in table.believed = names }
    }

    /// True if the source with this label is trusted to validate DNSSEC.
    package func isBelieved(labelled label: String) -> Bool {
        let name = label.firstIndex(of: "\t").map { label[label.index(after: $0)...] } ?? label[...]
        return table.withLock { $0.believed.contains(String(name)) }
    }

    // MARK: - Protection

    package func setLearned(upstreams: Set<String>) {
        table.withLock { $0.learnedUpstreams = upstreams }
    }

    /// True if the server comes from the network or a file, or is ``unknown``.
    func isLearned(_ number: UInt16) -> Bool {
        guard number != Self.unknown else { return true }
        let upstream = name(number).prefix { $0 != "/" }
        return table.withLock { $0.learnedUpstreams.contains(String(upstream)) }
    }

    package func setUnprotected(vendors: Set<String>) {
        table.withLock { $0.unprotectedVendors = vendors }
    }

    /// True if answers can be forged in transit: plain DNS, or unauthenticated vendor replies.
    package func isUnprotected(_ number: UInt16) -> Bool {
        guard number != Self.unknown else { return true }
        let parts = name(number).split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        if parts[1].hasPrefix("udp:") || parts[1].hasPrefix("tcp:") { return true }
        return table.withLock { $0.unprotectedVendors.contains(String(parts[0])) }
    }

    // MARK: - Snapshots

    private static let unknownLabel = "?"

    /// Returns the text that identifies a source in snapshots.
    ///
    /// The label is the vendor and a tab, if the source has a vendor, and then the name. A label of
    /// synthesized answers begins with a tab. The vendor precedes the name, because long labels are
    /// truncated at the end.
    package func label(_ number: UInt16) -> String {
        guard let origin = origin(number) else { return Self.unknownLabel }
        let label = origin.vendor.map { "\($0)\t\(origin.name)" } ?? origin.name
        return origin.isSynthesized ? "\t" + label : label
    }

    /// Returns the number that the source with this label has in this process.
    package func number(labelled label: String) -> UInt16 {
        guard label != Self.unknownLabel else { return Self.unknown }
        guard label.first != "\t" else {
            return number(synthesizedFrom: number(labelled: String(label.dropFirst())))
        }
        guard let tab = label.firstIndex(of: "\t") else { return number(label) }
        return number(String(label[label.index(after: tab)...]), vendor: String(label[..<tab]))
    }
}
