// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
internal import Frontend
import Net
import TestWorld

@testable import Administration

@ServiceLoop
final class Player {
    private struct Asked {
        let step: Scenario.Step
        let entry: Entry
        let octets: [UInt8]
        let operation: TestOperation<[UInt8]?>
        var isChecked = false
    }

    private let scenario: Scenario
    private let stage: ScenarioHarness
    private var asked: [Asked] = []

    /// Number of entries of ``Network/journal`` that earlier steps have compared: `journalSeen` for
    /// `CHECK_ASKED`, `messagesSeen` for `CHECK_OUT_QUERY`.
    private var journalSeen = 0
    private var messagesSeen = 0

    private var world: Simulation { stage.world }
    private var network: Network { stage.network }

    private init(_ scenario: Scenario) throws {
        self.scenario = scenario
        stage = try ScenarioHarness(scenario)
    }

    /// - Throws: `ScenarioError` for the first difference from the expectations.
    static func play(_ scenario: Scenario) async throws {
        let player = try Player(scenario)
        player.stage.begin()
        defer { player.stage.end() }
        for step in scenario.steps {
            player.network.step = step
            try await player.play(step)
            if let mistake = player.network.mistakes.first { throw mistake }
        }
        if let asked = player.asked.first(where: { !$0.isChecked }) {
            throw ScenarioError(
                place: asked.step.place,
                message: "STEP \(asked.step.number): unchecked answer"
            )
        }
    }

    private func play(_ step: Scenario.Step) async throws {
        switch step.action {
        case .query(let entry): ask(entry, step)
        case .checkAnswer(let entry, let number): try await checkAnswer(entry, of: number)
        case .checkNoAnswer(let number):
            await world.advance(by: .zero)
            guard try query(of: number).operation.value == nil else {
                throw failure(["unexpected answer"])
            }
        case .checkOutQuery(let entry): try await checkOutQuery(entry)
        case .checkAsked(let lines): try await checkAsked(lines)
        case .checkCached(let name, let lines): try check("cached", lines, stage.cached(name))
        case .checkExplained(let request, let lines): try await checkExplained(request, lines)
        case .checkBilled(let vendor, let count): try checkBilled(vendor, count)
        case .timePasses(let duration): await world.advance(by: duration)
        case .timeout: try await awaitTimeout()
        case .nothing: await world.advance(by: .zero)
        case .networkChange(let stack): stage.networkChanged(to: stack)
        case .portal(let seconds):
            let request = PortalRequest(forSeconds: seconds, off: seconds == nil)
            try await operate { _ = try await $0.portal(request) }
        case .resolvers(let lines): stage.resolversChanged(lines)
        case .hosts(let lines): stage.hostsChanged(lines)
        case .flush(let scope, let isSoft):
            try await operate { _ = try await $0.flush(scope, soft: isSoft, fleet: false) }
        case .pause(let name): try await operate { _ = try await $0.pause(.either(name)) }
        case .resume(let name): try await operate { _ = try await $0.resume(.either(name)) }
        }
    }

    private func failure(_ differences: [String]) -> ScenarioError {
        let time = Double(world.elapsed.wholeMilliseconds) / 1_000
        let lines = ["STEP \(network.step.number) at \(time) s:"] + differences
        return ScenarioError(
            place: network.step.place,
            message: lines.joined(separator: "\n  ")
        )
    }

    private func check(_ what: String, _ expected: [String], _ found: [String]) throws {
        guard expected != found else { return }
        throw failure([
            "\(what) expected: \(expected.isEmpty ? "nothing" : expected.joined(separator: "; "))",
            "\(what) found:    \(found.isEmpty ? "nothing" : found.joined(separator: "; "))",
        ])
    }
}

extension Player {
    private func ask(_ entry: Entry, _ step: Scenario.Step) {
        let octets = entry.query(id: UInt16(truncatingIfNeeded: 0x4000 + step.number))
        let operation = world.begin { [stage] in
            await stage.answer(octets, over: entry.isTCP ? .tcp : .udp)
        }
        asked.append(Asked(step: step, entry: entry, octets: octets, operation: operation))
    }

    private func query(of number: Int) throws -> Asked {
        guard let query = asked.first(where: { $0.step.number == number }) else {
            throw failure(["no query was sent in step \(number)"])
        }
        return query
    }

    private func checkAnswer(_ entry: Entry, of number: Int?) async throws {
        let index = asked.firstIndex { query in
            if let number { return query.step.number == number && !query.isChecked }
            return !query.isChecked
                && (entry.question == nil || entry.question == query.entry.question)
        }
        guard let index else { throw failure(["no matching query without an answer"]) }
        asked[index].isChecked = true
        let query = asked[index]
        guard let octets = try? await world.value(of: query.operation) else {
            throw failure(["no answer came"])
        }
        if let mistake = network.mistakes.first { throw mistake }
        var differences = AnswerCheck(octets, to: query.octets, query.entry).differences(entry)
        let took = (query.operation.end ?? world.now) - query.operation.start
        let isLate = entry.within.map { took > $0 } ?? false
        if let expected = entry.after, expected != took {
            differences.append("time expected: \(expected.wholeMilliseconds) ms after the query")
        } else if let expected = entry.within, isLate {
            differences.append("time expected: \(expected.wholeMilliseconds) ms at most")
        }
        if isLate || entry.after.map({ $0 != took }) ?? false {
            differences.append("time found:    \(took.wholeMilliseconds) ms")
        }
        guard differences.isEmpty else { throw failure(differences) }
    }
}

extension Player {
    private func checkOutQuery(_ entry: Entry) async throws {
        await world.advance(by: .zero)
        let queries = network.journal[messagesSeen...]
        guard let index = queries.firstIndex(where: { $0.query != nil }),
            let sent = queries[index].query
        else { throw failure(["no upstream was asked"]) }
        messagesSeen = index + 1
        var differences = AnswerCheck.differences(entry, sent.message, isTCP: sent.isTCP)
        if let octets = entry.octets, octets != sent.octets {
            differences += ["octets expected: \(octets)", "octets found:    \(sent.octets)"]
        }
        guard differences.isEmpty else { throw failure(differences) }
    }

    private func checkAsked(_ lines: [String]) async throws {
        await world.advance(by: .zero)
        let found = network.journal[journalSeen...].enumerated().map { offset, sent in
            guard offset < lines.count, lines[offset].contains(" at ") else { return sent.what }
            let start = asked.last { $0.operation.start <= sent.at }?.operation.start ?? world.start
            return "\(sent.what) at \((sent.at - start).wholeMilliseconds)ms"
        }
        journalSeen = network.journal.count
        messagesSeen = journalSeen
        try check("asked", lines, found)
    }

    private func checkBilled(_ name: String?, _ count: Int) throws {
        let bills = stage.billed
        guard let billed = name.map({ bills[$0] }) ?? bills.values.reduce(0, +) else {
            throw failure(["the settings have no vendor `\(name ?? "")`"])
        }
        try check("billed", ["\(count)"], ["\(billed)"])
    }

    private func awaitTimeout() async throws {
        let before = network.timeouts
        await world.drive(until: world.now + .seconds(60)) { [network] in
            network.timeouts > before
        }
        guard network.timeouts > before else { throw failure(["no request timed out within 60 s"]) }
    }

    private func checkExplained(_ request: ExplainRequest, _ lines: [String]) async throws {
        var told: [String] = []
        try await operate { verbs in
            let reply = try await verbs.explain(request, isLive: false)
            told = reply.steps.dropFirst().map { "\($0.stage) \($0.result)" }
            let when = reply.cost.nextBy == "query" ? "after" : "in"
            let next = reply.cost.nextSeconds.map {
                ", \(when) \($0) s \(reply.cost.nextBillableCalls)"
            }
            told.append("cost \(reply.cost.billableCalls)" + (next ?? ""))
        }
        try check("explained", lines, told)
    }

    private func operate(
        _ verb: @ServiceLoop (ControlHandler) async throws -> Void
    ) async throws {
        do {
            try await verb(stage.operator)
        } catch {
            throw failure(["\(error)"])
        }
    }
}

extension Duration {
    /// Not named `milliseconds`, because tested modules have a property with this name.
    fileprivate var wholeMilliseconds: Int {
        let parts = components
        return Int(parts.seconds) * 1_000 + Int(parts.attoseconds / 1_000_000_000_000_000)
    }
}
