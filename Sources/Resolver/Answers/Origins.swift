// SPDX-License-Identifier: Apache-2.0
internal import Locks

/// The names of all vendors' servers and upstreams, each with a number that fits a cache entry.
///
/// Numbers are never reused, so that an entry keeps saying where it came from.  An upstream has one
/// more for each vendor whose silence it makes up for: what its cached answer spares is that
/// vendor's next call.  For any thread: that which writes a snapshot asks for names, too.
package final class Origins: Sendable {
    /// The number of this daemon itself.
    package static let itself: UInt16 = 0

    /// Who answered, and who had been asked for it at a price.
    private struct Origin: Hashable {
        let name: String
        let vendor: String?
    }

    /// Every origin at the place of its number, and the way back.
    private struct Table {
        var origins: [Origin]
        var numbers: [Origin: UInt16]

        /// Who is believed to have validated what it says to be so.
        var believed: Set<String> = []

        /// Vendors whose replies can be forged on the way.
        var unprotectedVendors: Set<String> = []

        /// The table that knows this daemon only.
        init() {
            let itself = Origin(name: "httpdnsd", vendor: nil)
            origins = [itself]
            numbers = [itself: Origins.itself]
        }
    }

    private let table = Lock(Table())

    package init() {}

    /// The number of `name`, which is new or known; `itself` when 65,535 have been given out.
    ///
    /// - Parameter vendor: the vendor it is, or that was asked before it and had nothing.
    func number(_ name: String, vendor: String? = nil) -> UInt16 {
        let origin = Origin(name: name, vendor: vendor)
        return table.withLock { table in
            if let known = table.numbers[origin] { return known }
            guard let new = UInt16(exactly: table.origins.count) else { return Self.itself }
            table.origins.append(origin)
            table.numbers[origin] = new
            return new
        }
    }

    /// The number of whoever has `number`, answering after `vendor` had nothing.
    func number(_ number: UInt16, after vendor: String) -> UInt16 {
        self.number(name(number), vendor: vendor)
    }

    /// The name behind a number.
    package func name(_ number: UInt16) -> String { origin(number)?.name ?? "?" }

    /// The numbers of a vendor's servers, or of an upstream.
    package func numbers(of source: String) -> Set<UInt16> {
        table.withLock { table in
            let known = table.origins.indices.filter { index in
                table.origins[index].name.hasPrefix(source + "/")
            }
            return Set(known.compactMap(UInt16.init(exactly:)))
        }
    }

    /// The vendor that would be asked if there were no such answer; nil if none would.
    package func vendor(_ number: UInt16) -> String? { origin(number)?.vendor }

    private func origin(_ number: UInt16) -> Origin? {
        table.withLock { table in
            table.origins.indices.contains(Int(number)) ? table.origins[Int(number)] : nil
        }
    }

    // MARK: - Believing

    /// Believes what these say of DNSSEC, also in answers of an earlier life, and nobody else.
    package func believe(only names: Set<String>) {
        table.withLock { table in table.believed = names }
    }

    /// Whether what has such a label is believed.
    package func isBelieved(labelled label: String) -> Bool {
        let name = label.firstIndex(of: "\t").map { label[label.index(after: $0)...] } ?? label[...]
        return table.withLock { $0.believed.contains(String(name)) }
    }

    // MARK: - Protection

    /// Notes the vendors whose replies can be forged on the way, in place of those known before.
    package func setUnprotected(vendors: Set<String>) {
        table.withLock { $0.unprotectedVendors = vendors }
    }

    /// Whether an answer of the server with this number can have been forged on the way.
    ///
    /// True for vendors without TLS or authentication, and for upstreams of plain DNS.
    package func isUnprotected(_ number: UInt16) -> Bool {
        let parts = name(number).split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        if parts[1].hasPrefix("udp:") || parts[1].hasPrefix("tcp:") { return true }
        return table.withLock { $0.unprotectedVendors.contains(String(parts[0])) }
    }

    // MARK: - Over a restart

    /// What stands for a number in a file: name and vendor, as numbers are given out anew.
    ///
    /// The vendor comes first, as a long text is cut at its end.  Neither has a tab.
    package func label(_ number: UInt16) -> String {
        guard let origin = origin(number) else { return "?" }
        return origin.vendor.map { "\($0)\t\(origin.name)" } ?? origin.name
    }

    /// The number in this process of what has such a label.
    package func number(labelled label: String) -> UInt16 {
        guard let tab = label.firstIndex(of: "\t") else { return number(label) }
        return number(String(label[label.index(after: tab)...]), vendor: String(label[..<tab]))
    }
}
