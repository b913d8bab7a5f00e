// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import HTTPDNS
internal import Net

extension BillReply {
    /// Number of names in each bill.
    private static let names = 10

    /// Makes the bills of all vendors.
    ///
    /// - Parameters:
    ///   - isMonthly: true for the costs of the month instead of the day.
    ///   - seconds: time since the counters were zero.
    @ServiceLoop
    init(_ state: DaemonState, stats: [VendorStats], isMonthly: Bool, seconds: Int) {
        var bills: [VendorBill] = []
        var advice: [BillAdvice] = []
        for vendor in state.vendors {
            let statistics = vendor.client.statistics
            let counted = stats.first { $0.name == vendor.settings.name }
            var bill = VendorBill(
                name: vendor.settings.name,
                units: counted?.units ?? BilledUnits(statistics),
                rules: BillRules(statistics.price)
            )
            bill.cost = BilledCost(statistics, isMonthly: isMonthly)
            bill.problem = statistics.usageProblem
            // A merged, paired or cached look-up would have cost one item; names of a shared request
            // only save units if requests are billed.
            bill.saved = (counted?.avoided ?? [:]).mapValues { $0 * statistics.price.weight }
            if statistics.price.item != .request { bill.saved["batched"] = 0 }
            bill.routes = counted?.routes ?? []
            bill.names = vendor.client.costliestNames(Self.names).map {
                NameCost($0, vendor: vendor.settings.name, state.routeNames)
            }
            bills.append(bill)
            advice += BillAdvice.all(
                vendor.settings,
                vendor.client,
                statistics,
                units: bill.units.atMost,
                minimumTTL: state.settings.cache.minimumTTL,
                seconds: seconds
            )
        }
        self.init(
            period: isMonthly ? "month" : "day",
            vendors: bills,
            advice: advice.sorted { $0.changePercent < $1.changePercent }
        )
    }
}

extension BillRules {
    fileprivate init(_ price: PriceModel) {
        self.init(
            item: price.item.rawValue,
            weight: price.weight,
            known: price.isUnitKnown,
            freePerMonth: price.freePerMonth
        )
        self.price = price.price.map { BilledCost(amount: $0.amount, currency: $0.currency) }
        page = price.page?.address
        readOn = price.page?.readOn
    }
}

extension BilledCost {
    /// Makes the cost of the day or the month; nil if the price or the usage is unknown.
    ///
    /// The units of earlier days use up the free units of the month first.
    fileprivate init?(_ statistics: VendorStatistics, isMonthly: Bool) {
        guard let month = BilledCost(statistics) else { return nil }
        self = month
        guard !isMonthly, let usage = statistics.usage,
            let before = statistics.price.cost(
                ofMonth: usage.unitsThisMonth - min(usage.unitsThisMonth, usage.unitsToday)
            )
        else { return }
        amount = max(0, ((amount - before.amount) * 1_000_000).rounded() / 1_000_000)
    }
}

// MARK: - Advice

extension BillAdvice {
    /// Shortest period of the counters from which a daily rate is computed, in seconds.
    private static let shortestPeriod = 60

    private static let secondsADay = 86_400.0

    /// Returns the settings that would cost less at the present rate.
    @ServiceLoop
    fileprivate static func all(
        _ settings: VendorSettings,
        _ client: VendorClient,
        _ statistics: VendorStatistics,
        units: UInt64,
        minimumTTL: Duration,
        seconds: Int
    ) -> [BillAdvice] {
        guard units > 0 else { return [] }
        let daily = Double(units) * secondsADay / Double(max(seconds, shortestPeriod))
        func advice(_ setting: String, _ ratio: Double, _ givesUp: String) -> BillAdvice? {
            let change = Int(((ratio - 1) * 100).rounded())
            guard change <= -1 else { return nil }
            return BillAdvice(
                vendor: settings.name,
                setting: setting,
                unitsPerDay: UInt64((daily * ratio).rounded()),
                changePercent: change,
                givesUp: givesUp
            )
        }
        var list: [BillAdvice?] = []
        if case .alibaba(let account) = settings.account, settings.price?.weight == nil {
            let weight = Double(statistics.price.weight)
            let isV2 = account.api == .v2
            if account.scheme == .https, account.encryption != .none {
                list.append(
                    advice(
                        "encryption: none",
                        5 / weight,
                        "the second encryption inside of TLS"
                    )
                )
            }
            if account.scheme == .https, isV2 {
                list.append(
                    advice(
                        "scheme: http, encryption: gcm",
                        3 / weight,
                        "forward secrecy; an observer sees the account, the sizes and the times of "
                            + "calls, but no names and addresses, and cannot change answers"
                    )
                )
            }
        }
        if statistics.price.item == .family, settings.families == .both {
            list.append(
                advice(
                    "families: auto",
                    (1 + client.shareOfNamesWithBothFamilies) / 2,
                    "nothing; the first query for the other family of a name waits for a call"
                )
            )
        }
        if minimumTTL < ClientLimits.advisedTTL {
            list.append(
                advice(
                    "minimum-ttl: \(ClientLimits.advisedTTL.components.seconds)s",
                    statistics.unitsAtAdvisedTTL / Double(max(1, statistics.units.atMost)),
                    "changed addresses are noticed later; the value is an upper bound for names in "
                        + "constant use"
                )
            )
        }
        return list.compactMap(\.self)
    }
}
