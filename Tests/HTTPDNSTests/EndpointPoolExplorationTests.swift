// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

/// Checks invariants after each of up to seven events.
@Suite("Server selection under every sequence of events")
struct EndpointPoolExplorationTests {
    private enum Event: CaseIterable {
        case beginCurrent, beginOther, beginTrial
        case answered, late, failed, suspected, limited, unjudged
        case failedNewest
        case second, tenMinutes
        case network, schedule
    }

    private struct State {
        var pool: EndpointPool
        var underWay: [EndpointPool.Attempt] = []
        var time = Duration.zero

        var row = 0

        var doubts = 0

        /// Attempts that were in flight at the time of the latest answer of the current server.
        var heard: Set<UInt64> = []

        var failedTrial: UInt64 = 0

        var late = 0

        var fastest: SocketAddress?
        var fastestTrial: UInt64 = 0

        mutating func forget() {
            (row, doubts, heard, failedTrial) = (0, 0, [], 0)
        }

        mutating func beginEra() {
            forget()
            (late, fastest, fastestTrial) = (0, nil, 0)
        }
    }

    private struct Look: Hashable {
        /// State of one server, in a form that is equal for equivalent states.
        private struct Endpoint: Hashable {
            let address: SocketAddress
            let failuresInRow: Int
            let suspicions: Int
            let heard: [Bool]
            let tried: [Bool]
            let silent: Set<Int>
            let failedBefore: Int?
            let pause: Pause?
        }

        private struct Pause: Hashable {
            let left: Duration
            let next: Duration
            let trial: Int?
            let before: [Bool]
        }

        private struct Attempt: Hashable {
            let server: SocketAddress
            let isOfThisEra: Bool
            let isTrial: Bool
        }

        private let endpoints: [Endpoint]
        private let inTurn: [SocketAddress]
        private let current: Int
        private let returnIn: Duration?
        private let probe: Int?
        private let underWay: [Attempt]
        private let row: Int
        private let late: Int
        private let fastest: SocketAddress?
        private let isOvertaken: [Bool]

        init(_ state: State) {
            let pool = state.pool
            let now = EndpointPoolExplorationTests.epoch + state.time
            let numbers = state.underWay.map(\.number)
            func place(_ number: UInt64) -> Int { numbers.firstIndex(of: number) ?? -1 }
            func left(_ instant: Instant) -> Duration { max(.zero, instant - now) }
            endpoints = pool.endpoints.map { endpoint in
                Endpoint(
                    address: endpoint.address,
                    failuresInRow: endpoint.failuresInRow,
                    suspicions: endpoint.suspicions,
                    heard: numbers.map { $0 <= endpoint.receivedThrough },
                    tried: numbers.map { $0 < endpoint.failedTrial },
                    silent: Set(endpoint.silent.map(place)),
                    failedBefore: endpoint.failedAt == 0
                        ? nil : pool.endpoints.count { $0.failedAt < endpoint.failedAt },
                    pause: endpoint.breaker.pause.map { pause in
                        Pause(
                            left: left(pause.until),
                            next: pause.next,
                            trial: pause.trial.map(place),
                            before: numbers.map { $0 <= pause.openedAfter }
                        )
                    }
                )
            }
            inTurn = pool.inTurn
            current = pool.currentIndex
            returnIn = pool.returnAt.map(left)
            probe = pool.probe.map(place)
            underWay = state.underWay.map {
                Attempt(
                    server: $0.server,
                    isOfThisEra: $0.era == pool.era,
                    isTrial: $0.isTrial
                )
            }
            row = state.row
            (late, fastest) = (state.late, state.fastest)
            isOvertaken = numbers.map { $0 < state.fastestTrial }
        }
    }

    /// Faster than `#expect`.
    private func hold(_ isKept: Bool, _ promise: Comment) {
        if !isKept { Issue.record(promise) }
    }

    private static let limit = 2
    private static let epoch = Instant(nanoseconds: 0)

    private static let servers = ["192.0.2.1:1", "[2001:db8::2]:1", "192.0.2.3:1"].compactMap {
        SocketAddress($0)
    }

    private static let scheduled = ["192.0.2.7:1", "192.0.2.3:1"].compactMap { SocketAddress($0) }

    private func follow(_ state: State, _ event: Event) -> State? {
        var state = state
        let now = Self.epoch + state.time
        let (eraBefore, probeBefore) = (state.pool.era, state.pool.probe)
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
                Issue.record("the order has a server that cannot be called")
                return nil
            }
            state.underWay.append(attempt)
        case .beginTrial:
            guard let first = state.pool.trialOrder(now: now).first,
                let attempt = state.pool.begin(first, isTrial: true, now: now)
            else { return nil }
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
            case .suspected:
                guard !state.underWay[0].isTrial else { return nil }
                end(0, .suspected)
            default: end(state.underWay.count - 1, .failed)
            }
        }
        if let (attempt, outcome) = ended, attempt.isTrial, attempt.era == eraBefore,
            attempt.number != probeBefore
        {
            switch outcome {
            case .answered:
                (state.fastest, state.fastestTrial) = (attempt.server, attempt.number)
                if attempt.server == current { state.late = 0 }
            case .answeredLate where attempt.server == current: state.late += 1
            case .failed where attempt.server == current && attempt.number < state.fastestTrial:
                state.late += 1
            default: break
            }
        }
        if let (attempt, outcome) = ended, attempt.server == current {
            note(attempt, outcome, isOfThisEra: attempt.era == eraBefore, in: &state)
        }
        check(state, event, change, current, eraBefore)
        if state.pool.era != eraBefore { state.beginEra() }
        return state
    }

    private func note(
        _ attempt: EndpointPool.Attempt,
        _ outcome: EndpointPool.Outcome,
        isOfThisEra: Bool,
        in state: inout State
    ) {
        switch outcome {
        case .answered, .answeredLate:
            state.forget()
            state.heard = Set(state.underWay.map(\.number))
        case .failed where isOfThisEra && attempt.isTrial:
            state.row += max(1, state.doubts)
            state.doubts = 0
            state.failedTrial = attempt.number
        case .failed where isOfThisEra:
            state.row += 1
        case .suspected where isOfThisEra && !state.heard.contains(attempt.number):
            if attempt.number < state.failedTrial { state.row += 1 } else { state.doubts += 1 }
        default: break
        }
    }

    private func isConfigured(_ server: SocketAddress) -> Bool { Self.servers.contains(server) }

    private func admits(
        _ pool: EndpointPool,
        _ server: SocketAddress,
        _ now: Instant
    ) -> Bool {
        var copy = pool
        return copy.begin(server, now: now) != nil
    }

    private func check(
        _ state: State,
        _ event: Event,
        _ change: EndpointPool.Change?,
        _ current: SocketAddress,
        _ era: UInt64
    ) {
        let pool = state.pool
        let now = Self.epoch + state.time

        hold(
            pool.servers.contains(pool.current)
                && (pool.returnAt == nil) == (pool.current == pool.primary)
                && (!pool.isProbing || pool.returnAt != nil),
            "the current server is in the list, and a pending return means it is not the first"
        )
        hold(
            pool.probe == nil || state.underWay.contains { $0.number == pool.probe },
            "the awaited probe of the first server is in flight"
        )
        switch pool.order(now: now) {
        case .servers(let order):
            let admitting = pool.servers.filter { admits(pool, $0, now) }
            hold(
                !order.isEmpty && order.count == admitting.count && Set(order) == Set(admitting),
                "the order has exactly the servers that admit a call, each once"
            )
            hold(
                order[0] == pool.current || !order.contains(pool.current),
                "the order begins with the current server"
            )
            let trial = pool.trialOrder(now: now)
            hold(
                trial[0] == pool.current || !trial.contains(pool.current)
                    || !pool.isProbing && (pool.returnAt ?? now) <= now,
                "a probe begins with the current server, unless a check is due"
            )
            hold(
                trial[0] == pool.primary || trial[0] == pool.current || !pool.isReturnDue(now)
                    || !isConfigured(trial[0]) && isConfigured(pool.current),
                "a check begins with the first server, or with a scheduled one"
            )
            let kinds = Set(order.prefix(3).map(isConfigured))
            hold(
                kinds == Set(order.map(isConfigured)),
                "the first three servers are configured and scheduled ones"
            )
            hold(Set(trial) == Set(order), "a probe calls every server that a call would use")
        case .limited:
            hold(
                !pool.servers.contains { admits(pool, $0, now) },
                "an empty order means that no server admits a call"
            )
        }
        switch change {
        case .switched(let from, let to):
            let isLate = state.late >= Self.limit && to == state.fastest
            hold(
                from == current && to == pool.current && from != to
                    && (state.row >= (isConfigured(from) ? Self.limit : 1) || isLate)
                    && pool.era == era + 1,
                "a switch follows consecutive failures, or late answers to probes"
            )
        case .returned(let from):
            hold(
                from == current && event == .answered
                    && (pool.current == pool.primary
                        || isConfigured(from) && !isConfigured(pool.current)),
                "a return follows an answer"
            )
        case nil:
            hold(
                (pool.current == current || event == .schedule)
                    && (state.row < Self.limit || pool.era != era)
                    && (event != .late || state.late < Self.limit
                        || state.fastest.map { $0 == current } ?? true)
                    && pool.isCurrentSuspected == (state.doubts > 0 && pool.era == era),
                "the current server changes only by failures, a return, or a new list"
            )
        }
    }

    @Test("server selection keeps its invariants under seven events in any order")
    func explore() {
        let start = State(
            pool: EndpointPool(servers: Self.servers, failuresBeforeSwitch: Self.limit)
        )
        var known: Set<Look> = [Look(start)]
        var frontier = [start]
        for _ in 1...7 {
            var next: [State] = []
            for state in frontier {
                for event in Event.allCases {
                    guard let state = follow(state, event) else { continue }
                    if known.insert(Look(state)).inserted { next.append(state) }
                }
            }
            frontier = next
        }
        #expect(known.count > 10_000)
    }
}
