// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

@Suite("Retry and hedging plan of one call")
struct EndpointPoolAttemptPlanTests {
    private let epoch = Instant(nanoseconds: 0)

    private static let servers = (1...3).compactMap { SocketAddress("192.0.2.\($0):1") }

    private func course(within time: Duration = .seconds(3)) -> AttemptPlan {
        AttemptPlan(
            order: Self.servers,
            timeout: .seconds(2),
            hedgeAfter: .milliseconds(300),
            deadline: epoch + time
        )
    }

    @Test("a plan sets a timer for each hedged request")
    func wakes() {
        var course = course()
        #expect(course.begin(now: epoch) != nil)
        #expect(course.wake == epoch + .milliseconds(300))
        #expect(course.tick(now: epoch + .milliseconds(299)) == nil)
        #expect(course.tick(now: epoch + .milliseconds(300)) != nil)
        #expect(course.tick(now: epoch + .milliseconds(600)) != nil)
        #expect(course.wake == nil)
    }

    @Test("a plan without hedged requests queries the next server after a failure")
    func stoppedHedging() {
        var course = course()
        _ = course.begin(now: epoch)
        course.stopHedging()
        #expect(course.wake == nil)
        #expect(course.tick(now: epoch + .milliseconds(300)) == nil)
        #expect(course.failed(0, .server, now: epoch + .milliseconds(400)) != nil)
    }

    @Test("a failure restarts the delay before the next hedged request")
    func errorThenHedge() {
        var course = course()
        _ = course.begin(now: epoch)
        let later = epoch + .milliseconds(200)
        #expect(course.failed(0, .server, now: later) != nil)
        #expect(course.wake == later + .milliseconds(300))
    }

    @Test("a refused connection is tried once more, also after the end of an old connection")
    func refusedConnection() {
        var course = course()
        let faults: [AttemptPlan.Fault] = [.oldConnection, .refusedConnection, .refusedConnection]
        var moves = [course.begin(now: epoch)]
        for (number, fault) in faults.enumerated() {
            moves.append(course.failed(number, fault, now: epoch))
        }
        let asked = moves.map { move in
            if case .ask(_, let server, _, _) = move { server } else { nil as SocketAddress? }
        }
        let (first, second) = (Self.servers[0], Self.servers[1])
        #expect(asked == [first, first, first, second])
    }

    @Test("a local error of the daemon ends a call without further attempts")
    func ours() {
        var course = course()
        _ = course.begin(now: epoch)
        _ = course.tick(now: epoch + .milliseconds(300))
        #expect(course.failed(1, .ours, now: epoch + .milliseconds(301)) == nil)
        #expect(course.failed(0, .ours, now: epoch + .milliseconds(302)) == .end)
    }

    @Test("a lookup that joins a call can extend the deadline of the call")
    func extending() {
        var course = course(within: .milliseconds(100))
        _ = course.begin(now: epoch)
        course.extend(to: epoch + .seconds(1))
        course.extend(to: epoch)
        #expect(course.failed(0, .server, now: epoch + .milliseconds(200)) != nil)
    }

    @Test("each request of a call ends at the first request's timeout, even after the deadline")
    func ends() {
        var course = course(within: .milliseconds(500))
        let end = epoch + .seconds(2)
        guard case .ask(0, _, false, end)? = course.begin(now: epoch),
            case .ask(1, _, false, end)? = course.tick(now: epoch + .milliseconds(300))
        else {
            Issue.record("the requests do not end 2 s after the first one")
            return
        }
    }

    @Test("a plan queries at most `maximumServers` servers; a failed connection does not count")
    func maximumServers() {
        var course = AttemptPlan(
            order: Self.servers,
            maximumServers: 2,
            timeout: .seconds(2),
            hedgeAfter: .milliseconds(300),
            deadline: epoch + .seconds(3)
        )
        #expect(course.begin(now: epoch) != nil)
        #expect(course.tick(now: epoch + .milliseconds(300)) != nil)
        #expect(course.wake == nil)
        #expect(course.failed(1, .unconnected, now: epoch + .milliseconds(400)) != nil)
        #expect(course.wake == nil)
        #expect(course.failed(2, .server, now: epoch + .milliseconds(500)) == nil)
        #expect(course.failed(0, .server, now: epoch + .seconds(2)) == .end)
    }

    private enum Event: CaseIterable {
        case tick, hour, answeredFirst, answeredLast
        case serverFirst, serverLast, connection, ours
    }

    private struct State: Hashable {
        var course: AttemptPlan
        var running: [Int: SocketAddress] = [:]
        var asked: [SocketAddress] = []
        var fresh: [SocketAddress] = []
        var time = Duration.zero
        var ends = 0
        var answers = 0
    }

    private func apply(_ move: AttemptPlan.Move?, to state: inout State) {
        switch move {
        case .ask(let number, let server, let isFresh, let until):
            #expect(state.ends + state.answers == 0, "nothing is sent after the end")
            #expect(state.running[number] == nil)
            #expect(until <= state.course.deadline && until > epoch + state.time)
            state.running[number] = server
            if isFresh { state.fresh.append(server) } else { state.asked.append(server) }
        case .end: state.ends += 1
        case nil: break
        }
        #expect(Set(state.asked).count == state.asked.count, "each server is called once")
        #expect(Set(state.fresh).count == state.fresh.count, "and once on a new connection")
        #expect(state.ends + state.answers <= 1)
        #expect(state.course.isOver == (state.ends + state.answers == 1))
        #expect(state.course.isOver || !state.running.isEmpty)
        #expect(!state.course.isOver || state.course.wake == nil)
    }

    private func follow(_ state: State, _ event: Event) -> State? {
        var state = state
        let now = epoch + state.time
        var move: AttemptPlan.Move?
        func failed(_ number: Int?, _ fault: AttemptPlan.Fault) -> Bool {
            guard let number else { return false }
            state.running[number] = nil
            move = state.course.failed(number, fault, now: now)
            return true
        }
        let (first, last) = (state.running.keys.min(), state.running.keys.max())
        let happened: Bool
        switch event {
        case .tick, .hour:
            state.time += event == .tick ? .milliseconds(300) : .seconds(3_600)
            move = state.course.tick(now: epoch + state.time)
            happened = true
        case .answeredFirst, .answeredLast:
            guard let number = event == .answeredFirst ? first : last else { return nil }
            state.running[number] = nil
            if state.course.answered(number) { state.answers += 1 }
            happened = true
        case .serverFirst: happened = failed(first, .server)
        case .serverLast: happened = failed(last, .server)
        case .connection: happened = failed(first, .oldConnection)
        case .ours: happened = failed(first, .ours)
        }
        guard happened else { return nil }
        apply(move, to: &state)
        return state
    }

    @Test("a plan keeps its invariants under eight events in any order")
    func explore() {
        var start = State(course: course())
        apply(start.course.begin(now: epoch), to: &start)
        var frontier: Set<State> = [start]
        var count = 0
        for _ in 1...8 {
            var next: Set<State> = []
            for state in frontier {
                for event in Event.allCases {
                    if let state = follow(state, event) { next.insert(state) }
                }
            }
            frontier = next
            count += next.count
        }
        #expect(count > 500)
    }
}
