// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Budgets of vendor accounts that all hosts of the fleet share.
@ServiceLoop
package final class FleetBudget {
    /// Budget of one vendor on this host.
    package struct Account {
        package let identity: String

        /// Calls per day, units per day and units per month; nil if there is no such limit.
        package let limits: [UInt64?]

        /// Maximum cost of one call, for each element of `limits`.
        package let costs: [UInt64]

        /// Returns the day, the month, and the use by this host for each limit; nil if unknown.
        package let use: @ServiceLoop () -> (day: Int64, month: Int64, amounts: [UInt64])?

        package init(
            identity: String,
            limits: [UInt64?],
            costs: [UInt64],
            use: @escaping @ServiceLoop () -> (day: Int64, month: Int64, amounts: [UInt64])?
        ) {
            self.identity = identity
            self.limits = limits
            self.costs = costs
            self.use = use
        }
    }

    private struct Entry {
        var account: Account
        var claim: BudgetClaim
        var isAsking = false
        var nextAsk: Instant?
    }

    package var onChange: (@ServiceLoop (_ vendor: String, BudgetClaim) -> Void)?

    private let link: EngineLink
    private let seal: FleetSeal
    private let member: [UInt8]
    private let clocks: Clocks
    private var entries: [String: Entry] = [:]
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.confirm() }

    init(_ link: EngineLink, _ seal: FleetSeal, member: [UInt8], clocks: Clocks) {
        self.link = link
        self.seal = seal
        self.member = Array(member.hexadecimal.utf8)
        self.clocks = clocks
    }

    // MARK: - Use

    /// Replaces the accounts of all vendors; an unchanged account keeps its claim.
    package func use(_ accounts: [String: Account], _ known: (String) -> BudgetClaim?) {
        var new: [String: Entry] = [:]
        for (vendor, account) in accounts {
            if var entry = entries[vendor], entry.account.identity == account.identity,
                entry.account.limits == account.limits
            {
                entry.account = account
                new[vendor] = entry
            } else {
                let use = account.use()
                let (day, month) = (use?.day ?? 0, use?.month ?? 0)
                var claim = BudgetClaim(account.limits, day: day, month: month, members: 1)
                if let old = known(vendor) {
                    claim = BudgetClaim(
                        account.limits,
                        day: old.day,
                        month: old.month,
                        members: old.members
                    )
                    claim.restore(old.limits.map { $0.map { ($0.claimed, $0.total) } })
                    claim.begin(day: day, month: month)
                }
                new[vendor] = Entry(account: account, claim: claim)
            }
        }
        entries = new
        alarm.set(new.isEmpty ? nil : clocks.now() + FleetLimits.confirmation)
        if link.isUsable { connected() }
    }

    /// Returns the claim of this host; nil if the budget is not shared.
    package func claim(_ vendor: String, day: Int64, month: Int64, use: [UInt64]) -> BudgetClaim? {
        guard entries[vendor] != nil else { return nil }
        entries[vendor]?.claim.begin(day: day, month: month)
        guard let entry = entries[vendor] else { return nil }
        if entry.claim.isShort(use, entry.account.costs) { ask(vendor, use) }
        return entry.claim
    }

    func connected() {
        for vendor in entries.keys { askForUse(vendor) }
        // Other hosts may connect a moment after this host. So this host soon reads the sums of the
        // claims again.
        alarm.set(clocks.now() + FleetLimits.firstConfirmation)
    }

    func lost() {
        for vendor in Array(entries.keys) {
            entries[vendor]?.claim.lose(members: link.members)
            if let claim = entries[vendor]?.claim { onChange?(vendor, claim) }
        }
    }

    /// Gives back unused parts of claims, reads the sums, and restores claims that Redis has lost.
    private func confirm() {
        alarm.set(clocks.now() + FleetLimits.confirmation)
        for vendor in entries.keys { askForUse(vendor) }
    }

    private func askForUse(_ vendor: String) {
        guard let use = entries[vendor]?.account.use() else { return }
        entries[vendor]?.claim.begin(day: use.day, month: use.month)
        ask(vendor, use.amounts)
    }

    // MARK: - Engine

    private func ask(_ vendor: String, _ use: [UInt64]) {
        guard link.isUsable, let entry = entries[vendor], !entry.isAsking,
            entry.nextAsk.map({ $0 <= clocks.now() }) ?? true
        else { return }
        let wanted = entry.claim.wanted(use, entry.account.costs)
        let indices = wanted.indices.filter { wanted[$0] != nil }
        guard !indices.isEmpty else { return }
        var arguments: [[UInt8]] = [member]
        for index in indices {
            let limit = entry.account.limits[index] ?? 0
            let isMonthly = index == BudgetClaim.monthly
            arguments += [
                use[index], wanted[index] ?? 0, limit, isMonthly ? 40 * 86_400 : 3 * 86_400,
            ].map { Array("\($0)".utf8) }
        }
        let keys = indices.map { key(entry, $0) }
        let command = RedisCodec.command(
            [Array("EVAL".utf8), Array(Self.script.utf8), Array("\(keys.count)".utf8)] + keys
                + arguments
        )
        entries[vendor]?.isAsking = true
        let (day, identity) = (entry.claim.day, entry.account.identity)
        link.sendWithoutWaiting(
            [command],
            Completion { [weak self] replies in
                self?.take(replies, vendor, identity, day, indices, use)
            }
        )
    }

    private func take(
        _ replies: EngineLink.Replies,
        _ vendor: String,
        _ identity: String,
        _ day: Int64,
        _ indices: [Int],
        _ use: [UInt64]
    ) {
        guard let entry = entries[vendor], entry.account.identity == identity else { return }
        entries[vendor]?.isAsking = false
        guard entry.claim.day == day else { return }
        entries[vendor]?.nextAsk = clocks.now() + FleetLimits.claimPause
        guard case .success(let list) = replies,
            let amounts = Self.amounts(list, entry.account.limits, indices, use)
        else { return }
        entries[vendor]?.claim.take(amounts, members: link.members, isSettled: link.isSettled)
        // `claim.take` has set the share to zero. If Redis is unreachable now, the claim needs a
        // share again, because `lost` has already run.
        if !link.isUsable { entries[vendor]?.claim.lose(members: link.members) }
        guard let claim = entries[vendor]?.claim else { return }
        // If no limit is completely claimed, this host can claim more without a pause.
        if claim.limits.allSatisfy({ $0.map { $0.total < $0.most } ?? true }) {
            entries[vendor]?.nextAsk = nil
        }
        onChange?(vendor, claim)
    }

    /// Returns, for each limit, the claim of this host and the sum of the claims of all hosts.
    ///
    /// Nil for an invalid reply.
    static func amounts(
        _ replies: [RedisReply],
        _ limits: [UInt64?],
        _ indices: [Int],
        _ use: [UInt64]
    ) -> [(claimed: UInt64, total: UInt64)?]? {
        guard let numbers = replies.first?.elements, numbers.count == 2 * indices.count else {
            return nil
        }
        var amounts: [(claimed: UInt64, total: UInt64)?] = limits.map { _ in nil }
        for (place, index) in indices.enumerated() {
            guard case .integer(let claimed) = numbers[2 * place],
                case .integer(let total) = numbers[2 * place + 1],
                claimed >= 0, UInt64(claimed) >= use[index], total >= claimed
            else { return nil }
            // A claim can exceed the limit: without Redis, a host can use more than the limit, and
            // later claims the used amount.
            amounts[index] = (min(UInt64(claimed), limits[index] ?? 0), UInt64(total))
        }
        return amounts
    }

    private func key(_ entry: Entry, _ index: Int) -> [UInt8] {
        let digest = seal.digest(.usage, [Array(entry.account.identity.utf8)])
        let period = index == BudgetClaim.monthly ? entry.claim.month : entry.claim.day
        let name = ["calls", "units", "month"][index]
        let tag = digest.hexadecimal
        return Array("\(FleetKeys.prefix){\(tag)}:\(name):\(period)".utf8)
    }

    /// Script that updates the claims of this host.
    ///
    /// For each key, the script returns the claim of this host and the sum of all claims. The first
    /// argument is the host. Four arguments for each key follow: USED, WANTED, LIMIT and the
    /// seconds to live. A claim is never below USED. A key that is not a hash is replaced.
    private static let script = """
        local r={} \
        for i,k in ipairs(KEYS) do \
        local t=redis.call('TYPE',k).ok \
        if t~='hash' and t~='none' then redis.call('DEL',k) end \
        local a=4*i-2 \
        local used,want,limit=tonumber(ARGV[a]),tonumber(ARGV[a+1]),tonumber(ARGV[a+2]) \
        local own=tonumber(redis.call('HGET',k,ARGV[1]) or 0) or 0 \
        local total=tonumber(redis.call('HGET',k,'*') or 0) or 0 \
        local new=math.max(used,math.min(want,limit-total+own)) \
        total=total-own+new \
        local f='%.0f' \
        redis.call('HSET',k,ARGV[1],f:format(new),'*',f:format(total)) \
        redis.call('EXPIRE',k,ARGV[a+3]) \
        r[#r+1]=new r[#r+1]=total \
        end \
        return r
        """
}
