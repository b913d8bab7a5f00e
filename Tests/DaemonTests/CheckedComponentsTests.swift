// SPDX-License-Identifier: Apache-2.0
import Configuration
import Net
import Testing

@testable import Daemon

@Suite("Components of checked settings")
struct CheckedComponentsTests {
    private func settings(_ path: String) throws -> Settings {
        try Settings(
            parsing: "upstreams: [{name: u, url: \"https://192.0.2.1/\(path)\"}]",
            fileName: "f"
        )
    }

    @Test("after a check of settings, the daemon releases the upstreams of the checked settings")
    @ServiceLoop
    func released() async throws {
        let running = try Components(settings("a"), in: .system)
        let prepared = try await PreparedReload.make(settings("b"), after: running.settings)
        weak var upstream: AnyObject?
        do {
            let checked = try await Components.make(
                prepared.settled,
                in: .system,
                succeeding: running
            )
            upstream = checked.upstreams.first
            #expect(upstream != nil)
        }
        running.forgetOtherUpstreams()
        #expect(upstream == nil)
    }
}
