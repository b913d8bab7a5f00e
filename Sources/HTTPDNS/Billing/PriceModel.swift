// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Rules by which a vendor counts billed units, and the price of a unit.
package struct PriceModel: Sendable, Hashable {
    package enum Item: String, Sendable, Hashable {
        case request

        case name

        case family
    }

    package var item: Item

    /// Units per item; 0 if the vendor sends no bill.
    package var weight: UInt64

    /// True if an item without addresses in the reply is free.
    package var emptyIsFree: Bool

    /// False if the vendor does not publish its unit; ``item`` is then an assumption.
    package var isUnitKnown: Bool

    /// Free units per calendar month (UTC).
    package var freePerMonth: UInt64

    package var price: Price?

    /// Vendor's price page; nil if the rules are configured or assumed.
    package var page: Page?

    package struct Price: Sendable, Hashable {
        package var amount: Double

        /// ISO 4217 code, for example `CNY`.
        package var currency: String

        package init(per10000 amount: Double, _ currency: String) {
            self.amount = amount
            self.currency = currency
        }
    }

    package struct Page: Sendable, Hashable {
        package var address: String

        /// ISO 8601 day on which the price page was read.
        package var readOn: String

        package init(_ address: String, readOn: String) {
            self.address = address
            self.readOn = readOn
        }
    }

    package init(
        _ item: Item,
        weight: UInt64 = 1,
        emptyIsFree: Bool = false,
        isUnitKnown: Bool = true,
        freePerMonth: UInt64 = 0,
        price: Price? = nil,
        page: Page? = nil
    ) {
        self.item = item
        self.weight = weight
        self.emptyIsFree = emptyIsFree
        self.isUnitKnown = isUnitKnown
        self.freePerMonth = freePerMonth
        self.price = price
        self.page = page
    }

    package static let unknown = PriceModel(.request, isUnitKnown: false)

    package var pairsForFree: Bool { item != .family || weight == 0 }

    /// Returns the price of `units` additional units in a month with `used` units; nil if unknown.
    package func cost(of units: UInt64, after used: UInt64) -> Price? {
        let (sum, isOver) = used.addingReportingOverflow(units)
        guard let before = cost(ofMonth: used), let after = cost(ofMonth: isOver ? .max : sum)
        else { return nil }
        return Price(per10000: max(0, after.amount - before.amount), after.currency)
    }

    package func maximum(isEmpty: Bool) -> UInt64 { isEmpty && emptyIsFree ? 0 : weight }

    package func cost(ofMonth units: UInt64) -> Price? {
        guard let price else { return nil }
        let billed = units - min(units, freePerMonth)
        return Price(per10000: Double(billed) / 10_000 * price.amount, price.currency)
    }
}

// MARK: - Units of requests

extension PriceModel {
    package enum Fate: Sendable {
        case free

        case unknown

        case answered([VendorAnswer])
    }

    private func maximum(ofName index: Int, _ query: VendorQuery) -> UInt64 {
        switch item {
        case .request: index == 0 ? weight : 0
        case .name: weight
        case .family: weight * query.families.count
        }
    }

    package func total(_ query: VendorQuery) -> UInt64 {
        switch item {
        case .request: query.names.isEmpty ? 0 : weight
        case .name: weight * UInt64(query.names.count)
        case .family: weight * query.families.count * UInt64(query.names.count)
        }
    }

    /// Returns the billed units of each name, in the order of the names in a request.
    ///
    /// A reply that has only unusable addresses does not count as empty.
    package func units(of query: VendorQuery, _ fate: Fate) -> [UnitRange] {
        var isEmpty = true
        if case .answered(let answers) = fate {
            isEmpty = !answers.contains { $0.hadAddresses(of: query.families) > 0 }
        }
        return query.names.indices.map { units(ofName: $0, query, fate, isEmpty: isEmpty) }
    }

    private func units(
        ofName index: Int,
        _ query: VendorQuery,
        _ fate: Fate,
        isEmpty: Bool
    ) -> UnitRange {
        let maximum = maximum(ofName: index, query)
        switch fate {
        case .free: return .zero
        case .unknown: return UnitRange(atLeast: 0, atMost: maximum)
        case .answered(let answers):
            let families =
                answers.indices.contains(index)
                ? answers[index].hadAddresses(of: query.families) : 0
            let known: UInt64 =
                switch item {
                case .request: isEmpty ? 0 : maximum
                case .name: families > 0 ? maximum : 0
                case .family: weight * families
                }
            return UnitRange(atLeast: known, atMost: emptyIsFree ? known : maximum)
        }
    }
}

extension Families {
    fileprivate var count: UInt64 { self == .both ? 2 : 1 }
}

extension VendorAnswer {
    fileprivate func hadAddresses(of families: Families) -> UInt64 {
        (families.includesV4 && v4?.hadAddresses ?? false ? 1 : 0)
            + (families.includesV6 && v6?.hadAddresses ?? false ? 1 : 0)
    }
}

extension AddressSet {
    fileprivate var hadAddresses: Bool { !addresses.isEmpty || dropped > 0 }
}
