// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

/// Scripted upstreams in virtual time, with a log of queries.
@ServiceLoop
final class UpstreamHarness {
    let world = Simulation()

    /// Log of the queries: server and time in milliseconds, such as `one@0` and `two@400`.
    private(set) var asked: [String] = []

    private(set) var probed: [String] = []

    private(set) var checked: [String] = []

    nonisolated init() {}

    var elapsed: Int { world.elapsed.milliseconds }

    func group(_ members: any Forwarding...) -> UpstreamGroup {
        UpstreamGroup(members, health: HealthTable(clocks: world.clocks))
    }

    func note(_ who: String, _ query: Query) {
        let line = "\(who)@\(elapsed)"
        if query.isProbe {
            checked.append(line)
        } else if query.question.type == .txt {
            probed.append(line)
        } else {
            asked.append(line)
        }
    }

    func takeAsked() -> String {
        defer { asked = [] }
        return asked.joined(separator: " ")
    }

    func takeChecked() -> String {
        defer { checked = [] }
        return checked.joined(separator: " ")
    }

    func advance(by duration: Duration) async { await world.advance(by: duration) }

    static let query = Query(
        question: Question(name: "www.example.com", type: .a),
        dnssecOK: false,
        checkingDisabled: false
    )

    func ask(
        _ group: UpstreamGroup,
        within time: Duration = .milliseconds(4_800)
    ) async throws -> Result<String, UpstreamError> {
        let deadline = world.now + time
        let operation = world.begin { () -> Result<String, UpstreamError> in
            do throws(UpstreamError) {
                let reply = try await group.exchange(Self.query, deadline: deadline)
                return .success(reply.upstream.name)
            } catch {
                return .failure(error)
            }
        }
        return try await world.value(of: operation)
    }
}

final class ScriptedUpstream: Forwarding {
    enum Step: Sendable {
        case answer(Int)

        case fail(UpstreamError, Int = 0)

        case silence
    }

    let name: String
    let url = "scripted"
    let isProtected: Bool
    let latency = LatencyHistogram()
    let timeout: Duration
    let repeatsAfter: Duration?
    var numbers = UpstreamNumbers()
    var forgeries: UInt64 = 0

    var script: (Int) -> Step

    /// Reaction to probes; if nil, `script` also applies to probes.
    var own: Step?

    /// Function that returns the reaction to each probe; if set, replaces `own`.
    var ownScript: (() -> Step)?

    /// Reaction to the second question of a probe; if nil, the same as to the first question.
    var other: Step?

    /// Maximum number of equal replies to probes in a second; all error replies count as equal.
    var equalReplies = Int.max
    private var replies: [Question?: [Instant]] = [:]

    var overStream: () -> Step = { .silence }

    /// Milliseconds from each query until its deadline.
    private(set) var waits: [Int] = []
    private(set) var repeats = 0
    private(set) var resets = 0
    private(set) var questions: [Question] = []
    private let harness: UpstreamHarness

    init(
        _ name: String,
        in harness: UpstreamHarness,
        isProtected: Bool = false,
        timeout: Duration = .seconds(2),
        repeatsAfter: Duration? = nil,
        own: Step? = nil,
        _ script: @escaping (Int) -> Step
    ) {
        self.name = name
        self.harness = harness
        self.isProtected = isProtected
        self.timeout = timeout
        self.repeatsAfter = repeatsAfter
        self.own = own
        self.script = script
    }

    func ask(_ attempt: Attempt) {
        if attempt.earlier != nil, !attempt.query.isProbe { repeats += 1 }
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                let message = try await reply(
                    to: attempt.query,
                    by: attempt.deadline,
                    attempt.usesStream ? overStream() : nil
                )
                attempt.end(.success(.message(message)))
            } catch {
                attempt.end(.failure(error))
            }
        }
    }

    private func reply(
        to query: Query,
        by deadline: Instant,
        _ given: Step?
    ) async throws(UpstreamError) -> Message {
        let seeksLoop = query.question.type == .txt
        let world = harness.world
        harness.note(name, query)
        questions.append(query.question)
        let other = query == .otherProbe ? other : nil
        let step =
            seeksLoop
            ? Step.silence
            : given ?? (query.isProbe ? other ?? ownScript?() ?? own : nil) ?? script(waits.count)
        if !seeksLoop, !query.isProbe { waits.append((deadline - world.now).milliseconds) }
        let (outcome, time): (UpstreamError?, Int?) =
            switch step {
            case _ where query.isProbe && exceedsLimit(step, query.question): (.timedOut, nil)
            case .answer(let time): (nil, time)
            case .fail(let error, let time): (error, time)
            case .silence: (.timedOut, nil)
            }
        let arrival = time.map { world.now + .milliseconds($0) }
        do {
            try await world.clocks.sleep(min(deadline, arrival ?? deadline))
        } catch {
            throw .broken("cancelled")
        }
        guard let arrival, arrival <= deadline else { throw .timedOut }
        if let outcome { throw outcome }
        return Message(header: Header(id: 7))
    }

    private func exceedsLimit(_ step: Step, _ question: Question) -> Bool {
        let key: Question? = if case .fail = step { nil } else { question }
        let now = harness.world.now
        let recent = replies[key, default: []].filter { now - $0 < .seconds(1) }
        guard recent.count < equalReplies else { return true }
        replies[key] = recent + [now]
        return false
    }

    func networkChanged() { resets += 1 }
}

extension UpstreamGroup {
    func exchange(
        _ query: Query,
        deadline: Instant
    ) async throws(UpstreamError) -> Reply {
        try await withCheckedContinuation { continuation in
            ask(query, deadline: deadline, Completion { continuation.resume(returning: $0) })
        }.get()
    }
}
