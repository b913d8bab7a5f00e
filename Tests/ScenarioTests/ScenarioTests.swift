// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@Suite("The promises, each as a scenario")
struct ScenarioTests {
    init() { ServiceLoop.start() }

    @Test("the promise of the file's name is kept", arguments: Files.scenarios)
    func kept(_ name: String) async throws {
        let scenario = try Files.scenario(name)
        try await ServiceLoop.throwingTask { try await Player.play(scenario) }.value
    }

    @Test("there are at least sixty, and no two have one title")
    func count() throws {
        let titles = try Files.scenarios.map { try Files.scenario($0).title }
        #expect(titles.count >= 60)
        #expect(Set(titles).count == titles.count)
    }
}
