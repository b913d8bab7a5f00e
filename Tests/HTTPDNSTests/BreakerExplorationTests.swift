// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPDNS

@Suite("Circuit breakers under every sequence of events")
struct BreakerExplorationTests {
    private static let epoch = Instant(nanoseconds: 0)

    private func explore<State: Hashable, Event: CaseIterable>(
        from start: State,
        _: Event.Type,
        _ follow: (State, Event) -> State?
    ) -> Int {
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
        return known.count
    }

    private enum ServerEvent: CaseIterable {
        case begin
        case oldestAnswered, newestAnswered, oldestLimited, newestLimited, newestLimitedLong
        case oldestUnjudged, newestUnjudged
        case second, minute, network
    }

    private struct Server: Hashable {
        var breaker = Breaker()
        var underWay: [UInt64] = []
        var last: UInt64 = 0
        var time = Duration.zero

        var trials: Set<UInt64> = []
    }

    private func follow(_ state: Server, _ event: ServerEvent) -> Server? {
        var state = state
        let now = Self.epoch + state.time
        let before = state.breaker
        var judged: UInt64?
        func end(oldest: Bool) -> UInt64? {
            guard !state.underWay.isEmpty else { return nil }
            let number = oldest ? state.underWay.removeFirst() : state.underWay.removeLast()
            judged = number
            return number
        }
        func limit(oldest: Bool, _ retryAfter: Duration?) -> Bool {
            guard let number = end(oldest: oldest) else { return false }
            state.breaker.limited(number, retryAfter: retryAfter, last: state.last, now: now)
            return true
        }
        switch event {
        case .begin:
            guard state.breaker.admits(at: now), state.underWay.count < 3 else { return nil }
            state.last += 1
            state.underWay.append(state.last)
            if state.breaker.openUntil != nil { state.trials.insert(state.last) }
            state.breaker.began(state.last)
        case .oldestAnswered, .newestAnswered:
            guard let number = end(oldest: event == .oldestAnswered) else { return nil }
            state.breaker.answered(number)
        case .oldestLimited: guard limit(oldest: true, nil) else { return nil }
        case .newestLimited: guard limit(oldest: false, nil) else { return nil }
        case .newestLimitedLong: guard limit(oldest: false, .seconds(90)) else { return nil }
        case .oldestUnjudged, .newestUnjudged:
            guard let number = end(oldest: event == .oldestUnjudged) else { return nil }
            state.breaker.ended(number)
        case .second: state.time += .seconds(1)
        case .minute: state.time += .seconds(60)
        case .network: state.breaker.reset()
        }
        check(state, event, before, judged)
        if let judged { state.trials.remove(judged) }
        if state.breaker.openUntil == nil { state.trials = [] }
        return state
    }

    private func check(
        _ state: Server,
        _ event: ServerEvent,
        _ before: Breaker,
        _ judged: UInt64?
    ) {
        let now = Self.epoch + state.time
        let isTrial = judged.map { state.trials.contains($0) } ?? false
        let waiting = state.trials.subtracting(judged.map { [$0] } ?? [])
        guard let until = state.breaker.openUntil else {
            #expect(state.breaker.admits(at: now))
            if before.openUntil != nil {
                let isAnswer = event == .oldestAnswered || event == .newestAnswered
                #expect(isAnswer && isTrial || event == .network)
            }
            return
        }
        // Only a 429 opens the breaker or extends the pause.
        let isLimited = [.oldestLimited, .newestLimited, .newestLimitedLong].contains(event)
        #expect(before.openUntil == until || isLimited)
        if let earlier = before.openUntil { #expect(until >= earlier) }
        #expect(until <= now + .seconds(90))
        #expect(now >= until || !state.breaker.admits(at: now))
        #expect(waiting.count <= 1)
        #expect(state.breaker.admits(at: until) == waiting.isEmpty)
    }

    @Test("the breaker of a server keeps its invariants under eight events in any order")
    func server() {
        #expect(explore(from: Server(), ServerEvent.self, follow) > 1_000)
    }

    private enum AccountEvent: CaseIterable {
        case begin
        case oldestAccepted, newestAccepted, oldestRefused, newestRefused
        case oldestUnjudged, newestUnjudged
        case minute, fiveMinutes, network, pause, resume
    }

    /// State of an account; `underWay` has an element for each call in flight: true for a probe.
    private struct Account: Hashable {
        var gate = AccountBreaker()
        var underWay: [Bool] = []
        var time = Duration.zero

        /// True while a probe is in flight, and an event (such as a network change) has
        /// occurred since the probe began.
        var isBlurred = false
    }

    private func follow(_ state: Account, _ event: AccountEvent) -> Account? {
        var state = state
        let now = Self.epoch + state.time
        let before = state.gate
        switch event {
        case .begin:
            guard state.gate.refusal(now: now) == nil, state.underWay.count < 3 else { return nil }
            state.underWay.append(state.gate.begin())
        // No call takes a minute, so these events are possible only without calls in flight.
        case .minute, .fiveMinutes:
            guard state.underWay.isEmpty else { return nil }
            state.time += .seconds(event == .minute ? 60 : 300)
        case .network: state.gate.networkChanged(now: now)
        case .pause: state.gate.isPausedByOperator = true
        case .resume: state.gate.resume()
        default:
            guard !state.underWay.isEmpty else { return nil }
            let isOldest = [.oldestAccepted, .oldestRefused, .oldestUnjudged].contains(event)
            let isTrial = isOldest ? state.underWay.removeFirst() : state.underWay.removeLast()
            switch event {
            case .oldestAccepted, .newestAccepted: state.gate.accepted()
            case .oldestRefused, .newestRefused:
                state.gate.refused(
                    .unauthorized(status: 403, code: nil),
                    for: ClientLimits.refusalPause,
                    now: now
                )
            default: if isTrial { state.gate.trialEnded() }
            }
        }
        if state.underWay.contains(true), event != .begin { state.isBlurred = true }
        if !state.underWay.contains(true) { state.isBlurred = false }
        check(state, event, before)
        return state
    }

    private func check(_ state: Account, _ event: AccountEvent, _ before: AccountBreaker) {
        let now = Self.epoch + state.time
        let gate = state.gate
        #expect(
            gate.isPausedByOperator
                == (event == .pause || before.isPausedByOperator && event != .resume)
        )
        if gate.isPausedByOperator {
            #expect(gate.refusal(now: now) == .byOperator)
            return
        }
        guard let until = gate.denial?.until else {
            #expect(gate.refusal(now: now) == nil)
            return
        }
        let isRefused = event == .oldestRefused || event == .newestRefused
        #expect(before.denial != nil || isRefused)
        #expect(until <= now + ClientLimits.refusalPause)
        #expect(now >= until || gate.refusal(now: now) != nil)
        #expect(state.underWay.count { $0 } <= 1 || state.isBlurred)
        if !state.underWay.contains(true) { #expect(gate.refusal(now: until) == nil) }
    }

    @Test("the breaker of an account keeps its invariants under eight events in any order")
    func account() {
        #expect(explore(from: Account(), AccountEvent.self, follow) > 1_000)
    }
}
