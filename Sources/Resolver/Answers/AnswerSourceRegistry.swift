// SPDX-License-Identifier: Apache-2.0
internal import Locks

/// Numbers of vendor servers and upstreams, which cache entries store; thread-safe.
///
/// Numbers are never reused. An upstream has an additional number for each vendor for which it is
/// the fallback: a cache hit on an answer from there counts as an avoided call of the vendor.
package final class AnswerSourceRegistry: Sendable {
    /// Number that stands for this daemon as the source of an answer.
    package static let itself: UInt16 = 0

    /// Answer source, and the vendor that a cache hit on its answer does not need to call.
    private struct Origin: Hashable {
        let name: String
        let vendor: String?

        /// True for answers that DNS64 made from answers of this source.
        var isSynthesized = false
    }

    private struct Table {
        var origins: [Origin]
        var numbers: [Origin: UInt16]

        /// Names of sources that are trusted to validate DNSSEC.
        var believed: Set<String> = []

        /// Vendors without TLS or authentication: their replies can be forged in transit.
        var unprotectedVendors: Set<String> = []

        init() {
            let itself = Origin(name: "httpdnsd", vendor: nil)
            origins = [itself]
            numbers = [itself: AnswerSourceRegistry.itself]
        }
    }

    private let table = Lock(Table())

    package init() {}

    /// Returns the number of the source `name`, and registers a new one; `itself` if all 65,535
    /// numbers are in use.
    ///
    /// - Parameter vendor: the vendor that owns the server, or the vendor for which the upstream is
    ///   the fallback.
    func number(_ name: String, vendor: String? = nil) -> UInt16 {
        number(of: Origin(name: name, vendor: vendor))
    }

    private func number(of origin: Origin) -> UInt16 {
        table.withLock { table in
            if let known = table.numbers[origin] { return known }
            guard let new = UInt16(exactly: table.origins.count) else { return Self.itself }
            table.origins.append(origin)
            table.numbers[origin] = new
            return new
        }
    }

    /// Returns the number of the same upstream as the fallback of `vendor`.
    func number(_ number: UInt16, after vendor: String) -> UInt16 {
        self.number(name(number), vendor: vendor)
    }

    /// Returns the number for answers that DNS64 made from answers of this source.
    func number(synthesizedFrom number: UInt16) -> UInt16 {
        guard var origin = origin(number) else { return number }
        origin.isSynthesized = true
        return self.number(of: origin)
    }

    /// True for answers that DNS64 made from answers of another number.
    package func isSynthesized(_ number: UInt16) -> Bool {
        origin(number)?.isSynthesized ?? false
    }

    /// True for answers of a vendor that another machine shared: `VENDOR/fleet/MACHINE`.
    package func isOfFleet(_ number: UInt16) -> Bool {
        guard let origin = origin(number), let vendor = origin.vendor else { return false }
        return origin.name == vendor + "/fleet" || origin.name.hasPrefix(vendor + "/fleet/")
    }

    package func name(_ number: UInt16) -> String { origin(number)?.name ?? "?" }

    /// Returns the numbers of all servers of a vendor or an upstream.
    package func numbers(of source: String) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { index in
                table.origins[index].name.hasPrefix(source + "/")
            }
            return Set(known.compactMap(UInt16.init(exactly:)))
        }
    }

    /// Returns the vendor to which a cache hit with this source number saves a call; nil if none.
    package func vendor(_ number: UInt16) -> String? { origin(number)?.vendor }

    private func origin(_ number: UInt16) -> Origin? {
        table.withLock { table in
            table.origins.indices.contains(Int(number)) ? table.origins[Int(number)] : nil
        }
    }

    // MARK: - Believing

    /// Trusts exactly these sources to validate DNSSEC, also for answers from a snapshot.
    package func believe(only names: Set<String>) {
        table.withLock { table in table.believed = names }
    }

    /// True if the source with this label is trusted to validate DNSSEC.
    package func isBelieved(labelled label: String) -> Bool {
        let name = label.firstIndex(of: "\t").map { label[label.index(after: $0)...] } ?? label[...]
        return table.withLock { $0.believed.contains(String(name)) }
    }

    // MARK: - Protection

    package func setUnprotected(vendors: Set<String>) {
        table.withLock { $0.unprotectedVendors = vendors }
    }

    /// True if an answer from this source could have been forged in transit.
    ///
    /// That applies to vendors without TLS or authentication, and to plain DNS upstreams.
    package func isUnprotected(_ number: UInt16) -> Bool {
        let parts = name(number).split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        if parts[1].hasPrefix("udp:") || parts[1].hasPrefix("tcp:") { return true }
        return table.withLock { $0.unprotectedVendors.contains(String(parts[0])) }
    }

    // MARK: - Over a restart

    /// Returns the label of a source for snapshots: the vendor, if any, with a tab, then the name.
    ///
    /// The vendor comes first because long texts are truncated at the end.
    package func label(_ number: UInt16) -> String {
        guard let origin = origin(number) else { return "?" }
        let label = origin.vendor.map { "\($0)\t\(origin.name)" } ?? origin.name
        return origin.isSynthesized ? "\t" + label : label
    }

    /// Returns the number that a label's source has in this process.
    package func number(labelled label: String) -> UInt16 {
        guard label.first != "\t" else {
            return number(synthesizedFrom: number(labelled: String(label.dropFirst())))
        }
        guard let tab = label.firstIndex(of: "\t") else { return number(label) }
        return number(String(label[label.index(after: tab)...]), vendor: String(label[..<tab]))
    }
}
