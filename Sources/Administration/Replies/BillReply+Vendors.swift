// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import HTTPDNS
internal import Net

extension BillReply {
    private static let names = 10

    /// - Parameter seconds: time since the start of the daemon or the reset of the counters.
    @ServiceLoop
    init(
        _ state: DaemonState,
        stats: [VendorStats],
        isMonthly: Bool,
        seconds: Int,
        counts: [String: ResolveCounts.Outcome]
    ) {
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
            bill.counted = counts[vendor.settings.name].map { result in
                VendorCount(result, vendor.settings.account, units: bill.units.month)
            }
            // Each avoided lookup would have cost the units of one billed item. Batching saves
            // units only if the vendor bills requests, not names.
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
                under: state.settings,
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
    /// Cost of the current day or month; nil if the price or the usage is unknown.
    ///
    /// The cost of the current day includes only units that were spent after the free units of the
    /// month.
    fileprivate init?(_ statistics: VendorStatistics, isMonthly: Bool) {
        guard let usage = statistics.usage else { return nil }
        let units = isMonthly ? usage.unitsThisMonth : usage.unitsToday
        self.init(units, isSpent: true, statistics)
    }
}

extension VendorCount {
    /// Alibaba bills encrypted calls differently, but does not count them separately.
    ///
    /// The result assumes that all calls had the encryption of the account's setting `encryption`.
    fileprivate init(
        _ outcome: ResolveCounts.Outcome,
        _ account: VendorSettings.Account,
        units ours: UInt64?
    ) {
        self.init()
        switch outcome {
        case .failure(let failure): problem = failure.text
        case .success(let count):
            (http, https) = (count.http, count.https)
            let isEncrypted =
                if case .alibaba(let account) = account { account.encryption != .none } else {
                    false
                }
            let sum =
                Double(count.http)
                * Double(Alibaba.weight(usesTLS: false, isEncrypted: isEncrypted))
                + Double(count.https)
                * Double(Alibaba.weight(usesTLS: true, isEncrypted: isEncrypted))
            guard sum < Double(Int64.max) else { return }
            units = UInt64(sum)
            difference = ours.map { Int64(sum) - Int64(clamping: $0) }
        }
    }
}

// MARK: - Advice

extension BillAdvice {
    /// A daily rate is calculated for at least this time in seconds; for a shorter time, a few calls
    /// would give a high rate.
    private static let shortestPeriod = 60

    private static let secondsADay = 86_400.0

    @ServiceLoop
    fileprivate static func all(
        _ settings: VendorSettings,
        _ client: VendorClient,
        _ statistics: VendorStatistics,
        units: UInt64,
        under daemon: Settings,
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
        let savings = settings.savings(statistics.price, under: daemon, hasIPv6: client.hasIPv6())
        return savings.compactMap { saving in
            let ratio =
                switch saving {
                case .channel(_, let weight, _): Double(weight) / Double(statistics.price.weight)
                case .families: (1 + client.shareOfNamesWithBothFamilies) / 2
                case .noAAAA:
                    1 - Double(statistics.unitsForV6) / Double(max(1, statistics.units.atMost))
                case .minimumTTL:
                    statistics.unitsAtAdvisedTTL / Double(max(1, statistics.units.atMost))
                }
            return advice(saving.setting, ratio, saving.givesUp)
        }
    }
}
