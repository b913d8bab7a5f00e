// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Limits of client queries in flight over HTTPS (transfers): total, per upstream, and per client.
@ServiceLoop
package final class TransferShares {
    private let total: TransferTotal
    private var upstreams: [String: Reference] = [:]

    private struct Reference { weak var transfers: UpstreamTransfers? }

    package init(of limit: Int = UpstreamLimits.transfers) { total = TransferTotal(limit) }

    /// Returns the transfers of the upstream with `url`; all servers of the upstream share them.
    ///
    /// The reference is weak: upstreams of former settings must not reduce the shares.
    func transfers(at url: String, clocks: Clocks = .system) -> UpstreamTransfers {
        if let known = upstreams[url]?.transfers { return known }
        upstreams = upstreams.filter { $0.value.transfers != nil }
        let transfers = UpstreamTransfers(total, clocks)
        upstreams[url] = Reference(transfers: transfers)
        return transfers
    }
}

@ServiceLoop
private final class TransferTotal {
    let limit: Int
    var used = 0
    var upstreams = 0

    init(_ limit: Int) { self.limit = limit }

    /// Returns the limit of an upstream that uses `used` transfers.
    func share(using used: Int) -> Int {
        let free = limit - (self.used - used)
        return upstreams > 1 ? (free + 1) / 2 : free
    }
}

/// Transfers of one upstream; at a limit, a new transfer replaces an older transfer.
///
/// The rules are in `Upstream.md`, section "Limits of HTTPS".
@ServiceLoop
final class UpstreamTransfers {
    @ServiceLoop
    fileprivate final class Client {
        let network: ClientNetwork?

        /// False for an unproven client.
        let isVerified: Bool

        var count = 0
        var running = 0

        /// Mean of `running` in about the last ``UpstreamLimits/transferMemory``.
        private var load = 0.0
        private var updated = Instant(nanoseconds: 0)

        init(_ network: ClientNetwork?) {
            self.network = network
            isVerified = network?.isProven ?? true
        }

        /// True if this client runs fewer transfers than `other`.
        ///
        /// If the numbers are equal, true if this client has the lower `load`.
        func usesFewer(than other: Client) -> Bool {
            (running, load) < (other.running, other.load)
        }

        func updateLoad(_ now: Instant) {
            let part = min((now - updated) / UpstreamLimits.transferMemory, 1)
            load += (Double(running) - load) * part
            updated = now
        }
    }

    @ServiceLoop
    final class Transfer {
        fileprivate let client: Client
        fileprivate let began: Instant

        /// Start of the request; equal to `began` if the transfer did not wait.
        fileprivate var started: Instant

        fileprivate var place: Int?

        fileprivate var isRunning = false

        fileprivate var start: (@ServiceLoop () -> Void)?

        var request: (any RequestHandle)?

        fileprivate(set) var error: UpstreamError?

        fileprivate init(_ client: Client, _ began: Instant) {
            (self.client, self.began, started) = (client, began, began)
        }
    }

    private let total: TransferTotal
    private let clocks: Clocks
    private var all: [Transfer] = []
    private var clients: [ClientNetwork?: Client] = [:]

    private var unverified = 0

    private var running = 0
    private var unverifiedRunning = 0

    private var waiting: [Transfer] = []

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.checkWaiting() }

    /// Maximum number of running transfers; nil for HTTP/2.
    private var connections: Int?

    fileprivate init(_ total: TransferTotal, _ clocks: Clocks) {
        (self.total, self.clocks) = (total, clocks)
        total.upstreams += 1
    }

    isolated deinit { total.upstreams -= 1 }

    /// Adds a transfer of `client`; at a limit, the new transfer replaces an older transfer.
    ///
    /// A repetition replaces no transfer, and has lower limits.
    ///
    /// - Parameter client: nil for the daemon itself.
    ///
    /// - Returns: nil at a limit if no older transfer can be replaced.
    func begin(_ client: ClientNetwork?, isRepetition: Bool, now: Instant) -> Transfer? {
        let share = total.share(using: all.count)
        let limit = share - share / 8
        let client = clients[client] ?? Client(client)
        if isRepetition, !hasSpace(for: client, limit, share) { return nil }
        var replaced: Transfer?
        if client.count >= limit || all.count >= share {
            replaced = client.count >= limit ? oldest { $0 === client } : replaceable(share)
            guard let replaced, now - replaced.began >= grace(of: replaced, for: client, share)
            else {
                return nil
            }
            replaced.error = error(of: replaced.client)
            end(replaced)
        }
        let transfer = Transfer(client, now)
        add(transfer)
        replaced?.request?.cancel()
        return transfer
    }

    /// Returns the error for a query of `client` that is rejected, or that waits too long.
    func error(for client: ClientNetwork?) -> UpstreamError {
        clients[client].map(error) ?? .crowded
    }

    /// Returns `clientCrowded`, or `crowded` for an unproven client with few transfers.
    private func error(of client: Client) -> UpstreamError {
        let isOwn = client.isVerified || client.count > total.share(using: all.count) / 8
        return isOwn ? .clientCrowded : .crowded
    }

    /// Removes a transfer; idempotent.
    func end(_ transfer: Transfer) {
        guard let place = transfer.place, let last = all.popLast() else { return }
        transfer.place = nil
        if last !== transfer {
            all[place] = last
            last.place = place
        }
        total.used -= 1
        let client = transfer.client
        client.count -= 1
        if client.count == 0 { clients[client.network] = nil }
        if !client.isVerified { unverified -= 1 }
        if transfer.isRunning {
            note(transfer, isRunning: false)
        } else {
            transfer.start = nil
            waiting.removeAll { $0 === transfer }
        }
        if !waiting.isEmpty { startWaiting() }
    }

    private func add(_ transfer: Transfer) {
        transfer.place = all.count
        all.append(transfer)
        total.used += 1
        let client = transfer.client
        client.count += 1
        if client.count == 1 { clients[client.network] = client }
        if !client.isVerified { unverified += 1 }
    }

    /// Returns the age that a transfer must have before a transfer of `client` can replace it.
    private func grace(of transfer: Transfer, for client: Client, _ share: Int) -> Duration {
        let other = transfer.client
        // No minimum age: in a flood from forged addresses, perhaps no transfer is old enough.
        if client.isVerified, !other.isVerified, unverified > share / 2 { return .zero }
        guard other !== client else { return UpstreamLimits.transferGrace }
        let isCrowd = !client.isVerified && !other.isVerified
        return !isCrowd && other.count > 2 * client.count + 1
            ? .zero : UpstreamLimits.resolvingTime
    }

    /// True if `client` can repeat a query, and enough transfers are left for new queries.
    private func hasSpace(for client: Client, _ limit: Int, _ share: Int) -> Bool {
        client.count < limit / 2 && all.count < share && mayRun(client)
            && (client.isVerified || unverified < share / 4)
    }

    /// Returns the transfer to replace if the upstream has reached its limit, but the client has
    /// not.
    private func replaceable(_ share: Int) -> Transfer? {
        // Counts the unproven clients together, because one host can forge many addresses.
        let isCrowd = unverified > share / 2
        let largest = clients.values.lazy.filter { !isCrowd || !$0.isVerified }
            .max { $0.count < $1.count }
        let most = isCrowd ? share / 8 : 1
        if let largest, largest.count > most { return oldest { $0 === largest } }
        return oldest { !isCrowd || !$0.isVerified }
    }

    private func oldest(_ matches: (Client) -> Bool) -> Transfer? {
        var oldest: Transfer?
        for transfer in all where matches(transfer.client) {
            if let oldest, oldest.began <= transfer.began { continue }
            oldest = transfer
        }
        return oldest
    }
}

// MARK: - HTTP/1.1

extension UpstreamTransfers {
    var isHTTP1: Bool { connections != nil }

    /// Stores the HTTP version of the server, which each reply shows.
    func note(isHTTP1: Bool) {
        let connections = isHTTP1 ? UpstreamLimits.connections : nil
        guard connections != self.connections else { return }
        self.connections = connections
        startWaiting()
    }

    /// Returns true if the transfer can run now; if not, `enqueue` must follow.
    func run(_ transfer: Transfer) -> Bool {
        guard mayRun(transfer.client) else { return false }
        note(transfer, isRunning: true)
        return true
    }

    private func note(_ transfer: Transfer, isRunning: Bool) {
        let (client, change) = (transfer.client, isRunning ? 1 : -1)
        if connections != nil {
            let now = clocks.now()
            client.updateLoad(now)
            if isRunning { transfer.started = now }
        }
        transfer.isRunning = isRunning
        client.running += change
        running += change
        if !client.isVerified { unverifiedRunning += change }
    }

    func enqueue(_ transfer: Transfer, _ start: @escaping @ServiceLoop () -> Void) {
        transfer.start = start
        waiting.append(transfer)
        if !transfer.client.isVerified {
            alarm.bring(forward: transfer.began + UpstreamLimits.transferGrace)
        }
        replaceRunning()
    }

    private func checkWaiting() {
        replaceRunning()
        rejectWaiting()
    }

    /// Rejects each transfer that has waited 400 ms, if its client is unproven and has no running
    /// transfer.
    private func rejectWaiting() {
        let now = clocks.now()
        var rejected: [Transfer] = []
        for transfer in waiting where !transfer.client.isVerified {
            let end = transfer.began + UpstreamLimits.transferGrace
            if end <= now, transfer.client.running == 0 {
                rejected.append(transfer)
            } else {
                alarm.bring(forward: max(end, now + UpstreamLimits.resolvingTime))
            }
        }
        // The end of a rejected transfer can start another transfer of this list. Such a started
        // transfer is not rejected.
        for transfer in rejected where transfer.start != nil {
            transfer.error = .crowded
            transfer.request?.cancel()
        }
    }

    private func mayRun(_ client: Client) -> Bool {
        guard let connections else { return true }
        let free = connections - (running - client.running)
        return client.running < (free + 1) / 2
    }

    private func startWaiting() {
        while let index = firstWaiting(where: mayRun) {
            let transfer = waiting.remove(at: index)
            guard run(transfer), let start = transfer.start.take() else { continue }
            start()
        }
        replaceRunning()
    }

    /// Returns the index of the next transfer to start; `matches` selects the clients.
    private func firstWaiting(where matches: (Client) -> Bool) -> Int? {
        let now = clocks.now()
        let isProvenFirst = unverifiedRunning >= UpstreamLimits.unprovenConnections
        var first: Int?
        for (index, transfer) in waiting.enumerated() where matches(transfer.client) {
            let client = transfer.client
            client.updateLoad(now)
            if let other = first.map({ waiting[$0] }) {
                // Without the rule for queries of one client, each query of a client with too many queries
                // would begin shortly before its deadline, and fail.
                let isBefore =
                    client === other.client
                    ? now - other.began > UpstreamLimits.newestFirst
                    : client.isVerified == other.client.isVerified
                        ? client.usesFewer(than: other.client)
                        : client.isVerified == isProvenFirst
                if !isBefore { continue }
            }
            first = index
        }
        return first
    }

    /// Ends a running transfer if a client without a connection waits, and no connection is free.
    private func replaceRunning() {
        guard let connections, running >= connections,
            let index = firstWaiting(where: { $0.running == 0 })
        else { return }
        let now = clocks.now()
        let unproven = unverifiedRunning + (waiting[index].client.isVerified ? 0 : 1)
        let isCrowd = unproven > UpstreamLimits.unprovenConnections
        var (replaced, next): (Transfer?, Instant?)
        for transfer in all where transfer.isRunning && transfer.client.isVerified != isCrowd {
            let end = transfer.started + UpstreamLimits.transferGrace
            guard end <= now else {
                next = min(next ?? end, end)
                continue
            }
            transfer.client.updateLoad(now)
            if let replaced, !isReplaced(transfer, before: replaced) { continue }
            replaced = transfer
        }
        guard let replaced else {
            if let next { alarm.bring(forward: next) }
            return
        }
        replaced.error = error(of: replaced.client)
        replaced.request?.cancel()
        end(replaced)
    }

    private func isReplaced(_ transfer: Transfer, before other: Transfer) -> Bool {
        transfer.client === other.client
            ? transfer.started < other.started : other.client.usesFewer(than: transfer.client)
    }
}
