// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

/// Every sequence of up to eight events, and what must hold after each.
@Suite("Which server is asked, whatever happens")
struct EndpointPoolExplorationTests {
    /// What can happen to a pool.
    private enum Event: CaseIterable {
        case beginCurrent, beginOther
        case answered, late, failed, limited, unjudged
        case failedNewest
        case second, tenMinutes
        case network, schedule
    }

    /// A pool, what is under way, and what a bystander has seen.
    private struct State: Hashable {
        var pool: EndpointPool
        var underWay: [EndpointPool.Attempt] = []
        var time = Duration.zero

        /// Failures of the current server in a row, of attempts that began while it was current.
        var row = 0
    }

    private static let limit = 2
    private static let epoch = ContinuousClock().systemEpoch

    private static let servers = ["192.0.2.1:1", "[2001:db8::2]:1", "192.0.2.3:1"].compactMap {
        SocketAddress($0)
    }

    private static let scheduled = ["192.0.2.7:1", "192.0.2.3:1"].compactMap { SocketAddress($0) }

    /// What follows `state` when `event` happens; nil if it cannot.
    private func follow(_ state: State, _ event: Event) -> State? {
        var state = state
        let now = Self.epoch + state.time
        let eraBefore = state.pool.era
        var change: EndpointPool.Change?
        var ended: (EndpointPool.Attempt, EndpointPool.Outcome)?
        func end(_ index: Int, _ outcome: EndpointPool.Outcome) {
            let attempt = state.underWay.remove(at: index)
            change = state.pool.end(attempt, outcome, now: now)
            ended = (attempt, outcome)
        }
        let current = state.pool.current
        switch event {
        case .beginCurrent, .beginOther:
            guard case .servers(let order) = state.pool.order(now: now) else { return nil }
            let index = event == .beginCurrent ? 0 : order.count - 1
            guard index >= 0, event == .beginCurrent || index > 0 else { return nil }
            guard let attempt = state.pool.begin(order[index], now: now) else {
                Issue.record("the order has a server that cannot be asked")
                return nil
            }
            state.underWay.append(attempt)
        case .second: state.time += .seconds(1)
        case .tenMinutes: state.time += .seconds(600)
        case .network: state.pool.networkChanged(now: now)
        case .schedule: state.pool.schedule(Self.scheduled, now: now)
        default:
            guard !state.underWay.isEmpty else { return nil }
            switch event {
            case .answered: end(0, .answered)
            case .late: end(0, .answeredLate)
            case .limited: end(0, .limited(retryAfter: nil))
            case .unjudged: end(0, .unjudged)
            case .failed: end(0, .failed)
            default: end(state.underWay.count - 1, .failed)
            }
        }
        // The bystander counts for itself.
        if let (attempt, outcome) = ended, attempt.server == current {
            if outcome == .failed, attempt.era == eraBefore { state.row += 1 }
            if outcome == .answered || outcome == .answeredLate { state.row = 0 }
        }
        check(state, event, change, current, eraBefore)
        if state.pool.era != eraBefore { state.row = 0 }
        return state
    }

    /// Whether an attempt on `server` would be begun.
    private func admits(
        _ pool: EndpointPool,
        _ server: SocketAddress,
        _ now: ContinuousClock.Instant
    ) -> Bool {
        var copy = pool
        return copy.begin(server, now: now) != nil
    }

    /// What holds after every event.
    private func check(
        _ state: State,
        _ event: Event,
        _ change: EndpointPool.Change?,
        _ current: SocketAddress,
        _ era: UInt64
    ) {
        let pool = state.pool
        let now = Self.epoch + state.time

        // The current server is one of them, and waiting for a return means being away.
        #expect(pool.servers.contains(pool.current))
        #expect((pool.returnAt == nil) == (pool.current == pool.primary))
        #expect(!pool.isProbing || pool.returnAt != nil)

        // The order is of distinct known servers which admit a call, and begins with the current
        // one or with the primary one whose time has come; without an order nobody admits one.
        switch pool.order(now: now) {
        case .servers(let order):
            #expect(!order.isEmpty && Set(order).count == order.count)
            for server in pool.servers {
                #expect(admits(pool, server, now) == order.contains(server))
            }
            if order[0] != pool.current, order.contains(pool.current) {
                #expect(order[0] == pool.primary && !pool.isProbing)
                #expect((pool.returnAt ?? now) <= now)
            }
        case .limited:
            for server in pool.servers {
                #expect(!admits(pool, server, now))
            }
        }

        // The current server moves only by a row of failures, a return, or a new list.
        switch change {
        case .switched(let from, let to):
            #expect(from == current && to == pool.current && from != to)
            #expect(state.row == Self.limit)
            #expect(pool.era == era + 1)
        case .returned(let from):
            #expect(from == current && pool.current == pool.primary && event == .answered)
        case nil:
            #expect(pool.current == current || event == .schedule)
            #expect(state.row < Self.limit || pool.era != era)
        }
    }

    @Test("eight events in any order break no promise")
    func explore() {
        let start = State(
            pool: EndpointPool(servers: Self.servers, failuresBeforeSwitch: Self.limit)
        )
        var known: Set<State> = [start]
        var frontier = [start]
        for _ in 1...8 {
            var next: [State] = []
            for state in frontier {
                for event in Event.allCases {
                    guard let state = follow(state, event), known.insert(state).inserted else {
                        continue
                    }
                    next.append(state)
                }
            }
            frontier = next
        }
        #expect(known.count > 10_000)
    }
}
