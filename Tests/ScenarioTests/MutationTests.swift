// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Net
import Testing

private struct Mutant {
    var scenario: Scenario
    var step: Scenario.Step
    var change: String
}

@Suite("A scenario with a wrong expectation fails, and the error names the line of the expectation")
struct MutationTests {
    private static func fault(_ scenario: Scenario) async -> ScenarioError? {
        let task = ServiceLoop.throwingTask { try await Player.play(scenario) }
        do {
            try await task.value
            return nil
        } catch {
            return error as? ScenarioError
        }
    }

    private static let sample = "vendor-call-answers-both-families.rpl"

    @Test("the error for a failed check shows line, step, time, expected value and actual value")
    func report() async throws {
        var scenario = try Files.scenario(Self.sample)
        let index = try #require(
            scenario.steps.lastIndex { if case .checkAnswer = $0.action { true } else { false } }
        )
        guard case .checkAnswer(var entry, let of) = scenario.steps[index].action else { return }
        entry.answers[0].ttl += 1
        scenario.steps[index].action = .checkAnswer(entry, of: of)
        let fault = try #require(await Self.fault(scenario))
        let step = scenario.steps[index]
        #expect(
            fault.description == """
                \(Self.sample):\(step.place.line): STEP \(step.number) at 0.02 s:
                  answer expected: www.example.com. 121 AAAA 2001:db8::101
                  answer found:    www.example.com. 120 AAAA 2001:db8::101
                """
        )
    }

    @Test("a scenario fails if the answer to a query is not checked")
    func unchecked() async throws {
        var scenario = try Files.scenario(Self.sample)
        scenario.steps.removeAll { if case .query = $0.action { false } else { true } }
        let fault = try #require(await Self.fault(scenario))
        #expect(fault.description.contains("STEP 1: unchecked answer"))
    }

    @Test("a scenario fails if the daemon queries a server for which the scenario has no RANGE")
    func unplayed() async throws {
        var scenario = try Files.scenario(Self.sample)
        scenario.ranges = []
        let fault = try #require(await Self.fault(scenario))
        #expect(fault.description.contains("no range plays tencent/192.0.2.11"))
    }

    @Test("an error in the settings of a scenario has the line number in the scenario file")
    func settings() async throws {
        var scenario = try Files.scenario(Self.sample)
        scenario.settings = scenario.settings.replacingOccurrences(of: "kind:", with: "knid:")
        let fixture = scenario
        let task = ServiceLoop.throwingTask { try await Player.play(fixture) }
        let error = await #expect(throws: (any Error).self) { try await task.value }
        #expect("\(try #require(error))".contains("\(Self.sample):"))
    }

    @Test(
        "if one check of a scenario is changed, the scenario fails at this check",
        arguments: Files.scenarios
    )
    func mutants(_ name: String) async throws {
        let scenario = try Files.scenario(name)
        // `ScenarioTests` reports a scenario that already fails without a change.
        guard await Self.fault(scenario) == nil else { return }
        for mutant in Self.mutants(of: scenario) {
            let fault = await Self.fault(mutant.scenario)
            #expect(
                fault?.place == mutant.step.place,
                "\(mutant.step.place) passes with \(mutant.change): \(fault?.description ?? "")"
            )
        }
    }

    private static func mutants(of scenario: Scenario) -> [Mutant] {
        scenario.steps.indices.flatMap { index in
            changes(scenario.steps[index].action).map { change, action in
                var mutant = scenario
                mutant.steps[index].action = action
                return Mutant(scenario: mutant, step: scenario.steps[index], change: change)
            }
        }
    }

    private static func changes(_ action: Scenario.Action) -> [(String, Scenario.Action)] {
        switch action {
        case .checkAnswer(let entry, let of):
            return changes(entry).map { ($0, .checkAnswer($1, of: of)) }
        case .checkOutQuery(let entry):
            return changes(entry).map { ($0, .checkOutQuery($1)) }
        case .checkAsked(let lines):
            return [
                ("one more asked", .checkAsked(lines + ["unknown www.example.com A"])),
                ("one less asked", .checkAsked(Array(lines.dropLast()))),
            ].filter { $0.0 != "one less asked" || !lines.isEmpty }
        case .checkCached(let name, let lines):
            return [("one more cached", .checkCached(name, lines + ["TXT 1"]))]
        case .checkExplained(let request, let lines):
            return [("one step less", .checkExplained(request, Array(lines.dropFirst())))]
        case .checkBilled(let vendor, let count):
            return [("one more billed", .checkBilled(vendor: vendor, count + 1))]
        default:
            return []
        }
    }

    private static func changes(_ entry: Entry) -> [(String, Entry)] {
        var changes: [(String, Entry)] = []
        func change(_ what: String, if applies: Bool, _ body: (inout Entry) -> Void) {
            guard applies else { return }
            var copy = entry
            body(&copy)
            changes.append((what, copy))
        }
        let match = entry.match
        change("another RCODE", if: match.contains(.rcode)) {
            $0.rcode = RCode(rawValue: entry.rcode.rawValue ^ 1)
        }
        change("another flag", if: match.contains(.flags)) { $0.flags ^= 0x0400 }
        change("another EDE", if: match.contains(.ede)) { $0.extendedErrors.append(99) }
        change("a later answer", if: entry.after != nil) { entry in
            entry.after = entry.after.map { $0 + .milliseconds(1) }
        }
        change("an immediate answer", if: entry.within != nil) { $0.within = .zero }
        change("another DO", if: match.contains(.do)) { $0.dnssecOK.toggle() }
        change("another length", if: entry.octets != nil) { $0.octets = 1 }
        let sections: [(Matching, WritableKeyPath<Entry, [Record]>)] = [
            (.answer, \.answers), (.authority, \.authorities), (.additional, \.additionals),
        ]
        for (matching, path) in sections where match.contains(matching) {
            change("a record more in \(matching)", if: true) { entry in
                entry[keyPath: path].append(
                    Record(name: .root, ttl: 1, data: .a(IPv4Address(value: 1)))
                )
            }
            let hasRecords = !entry[keyPath: path].isEmpty
            change("a record less in \(matching)", if: hasRecords) { entry in
                entry[keyPath: path].removeLast()
            }
            change("another TTL in \(matching)", if: hasRecords && match.contains(.ttl)) {
                $0[keyPath: path][0].ttl += 1
            }
        }
        return changes
    }
}
