// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

/// Every sequence of up to seven events, and what must hold after each.
///
/// None is continued whose end looks as another's did: same servers, same attempts under way, and the
/// same time left until something happens.  Numbers and instants as such decide on nothing, only
/// which of them is greater; so a quarter of a million states look like a tenth as many.
@Suite("Which server is asked, whatever happens")
struct EndpointPoolExplorationTests {
    /// What can happen to a pool.
    private enum Event: CaseIterable {
        case beginCurrent, beginOther, beginTrial
        case answered, late, failed, suspected, limited, unjudged
        case failedNewest
        case second, tenMinutes
        case network, schedule
    }

    /// A pool, what is under way, and what a bystander has seen.
    private struct State {
        var pool: EndpointPool
        var underWay: [EndpointPool.Attempt] = []
        var time = Duration.zero

        /// Confirmed failures of the current server in a row, of attempts that began while it was current.
        var row = 0

        /// Unconfirmed ones since its latest answer or failed trial.
        var doubts = 0

        /// The attempts that were under way, or ended, when the current server answered last.
        var heard: Set<UInt64> = []

        /// The number of the latest failed trial of the current server, if it has not answered since.
        var failedTrial: UInt64 = 0

        /// Nothing is held against the current server.
        mutating func forget() {
            (row, doubts, heard, failedTrial) = (0, 0, [], 0)
        }
    }

    /// All of a state that decides on what can follow.
    private struct Look: Hashable {
        /// An endpoint, its numbers as places among the attempts under way; -1 for one that has ended.
        private struct Endpoint: Hashable {
            let address: SocketAddress
            let failuresInRow: Int
            let suspicions: Int
            let heard: [Bool]
            let tried: [Bool]
            let silent: Set<Int>
            let pause: Pause?
        }

        /// A breaker's pause, with the time that is left, and which attempts began before it.
        private struct Pause: Hashable {
            let left: Duration
            let next: Duration
            let trial: Int?
            let before: [Bool]
        }

        /// An attempt under way, and whether what it reports counts.
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

        init(_ state: State) {
            let pool = state.pool
            let now = EndpointPoolExplorationTests.epoch + state.time
            let numbers = state.underWay.map(\.number)
            func place(_ number: UInt64) -> Int { numbers.firstIndex(of: number) ?? -1 }
            func left(_ instant: ContinuousClock.Instant) -> Duration { max(.zero, instant - now) }
            endpoints = pool.endpoints.map { endpoint in
                Endpoint(
                    address: endpoint.address,
                    failuresInRow: endpoint.failuresInRow,
                    suspicions: endpoint.suspicions,
                    heard: numbers.map { $0 <= endpoint.heardThrough },
                    tried: numbers.map { $0 < endpoint.failedTrial },
                    silent: Set(endpoint.silent.map(place)),
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
        }
    }

    /// Notes a broken promise: `#expect`, were it not for the time that millions of those take.
    private func hold(_ isKept: Bool, _ promise: Comment) {
        if !isKept { Issue.record(promise) }
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
                // What a trial brings is no suspicion.
                guard !state.underWay[0].isTrial else { return nil }
                end(0, .suspected)
            default: end(state.underWay.count - 1, .failed)
            }
        }
        // The bystander counts for itself.
        if let (attempt, outcome) = ended, attempt.server == current {
            note(attempt, outcome, isOfThisEra: attempt.era == eraBefore, in: &state)
        }
        check(state, event, change, current, eraBefore)
        if state.pool.era != eraBefore { state.forget() }
        return state
    }

    /// Counts an end of an attempt on the current server.
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

        hold(
            pool.servers.contains(pool.current)
                && (pool.returnAt == nil) == (pool.current == pool.primary)
                && (!pool.isProbing || pool.returnAt != nil),
            "the current server is one of them, and waiting for a return means being away"
        )
        hold(
            pool.probe == nil || state.underWay.contains { $0.number == pool.probe },
            "the trial of the primary one that others wait for is under way"
        )
        switch pool.order(now: now) {
        case .servers(let order):
            let admitting = pool.servers.filter { admits(pool, $0, now) }
            hold(
                !order.isEmpty && order.count == admitting.count && Set(order) == Set(admitting),
                "the order is of those servers, each once, which admit a call"
            )
            hold(
                order[0] == pool.current || !order.contains(pool.current),
                "it begins with the current one"
            )
            let trial = pool.trialOrder(now: now)
            let isReturn = trial[0] == pool.primary && !pool.isProbing
            hold(
                trial[0] == pool.current || !trial.contains(pool.current)
                    || isReturn && (pool.returnAt ?? now) <= now,
                "a trial begins with the current one, or the primary one whose time has come"
            )
            hold(Set(trial) == Set(order), "a trial asks every server that a call would ask")
        case .limited:
            hold(
                !pool.servers.contains { admits(pool, $0, now) },
                "without an order nobody admits a call"
            )
        }
        switch change {
        case .switched(let from, let to):
            hold(
                from == current && to == pool.current && from != to && state.row >= Self.limit
                    && pool.era == era + 1,
                "a switch follows a row of failures"
            )
        case .returned(let from):
            hold(
                from == current && pool.current == pool.primary && event == .answered,
                "a return follows an answer"
            )
        case nil:
            hold(
                (pool.current == current || event == .schedule)
                    && (state.row < Self.limit || pool.era != era)
                    && pool.isCurrentSuspected == (state.doubts > 0 && pool.era == era),
                "the current server moves by a row of failures, a return, or a new list only"
            )
        }
    }

    @Test("seven events in any order break no promise")
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
