// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@Suite("Scenarios: promises to users, played against the daemon in virtual time")
struct ScenarioTests {
    @Test("the daemon behaves as each scenario describes", arguments: Files.scenarios)
    func kept(_ name: String) async throws {
        let scenario = try Files.scenario(name)
        try await ServiceLoop.throwingTask { try await Player.play(scenario) }.value
    }

    @Test("there are at least 60 scenarios with distinct titles")
    func count() throws {
        let titles = try Files.scenarios.map { try Files.scenario($0).title }
        #expect(titles.count >= 60)
        #expect(Set(titles).count == titles.count)
    }
}
