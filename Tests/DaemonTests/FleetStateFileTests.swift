// SPDX-License-Identifier: Apache-2.0
import Fleet
import Net
import TestWorld
import Testing

@testable import Daemon

struct FleetStateFileTests {
    private func claim() -> BudgetClaim {
        var claim = BudgetClaim([100, nil, 5_000], day: 20_000, month: 24_300, members: 7)
        claim.restore([(10, 60), nil, (400, 900)])
        return claim
    }

    @Test
    func `claims are read as they were written`() {
        let claims = ["a": claim(), "b": BudgetClaim([nil, 5, nil], day: 1, month: 1, members: 1)]
        let identifier = FleetStateFile.newIdentifier()
        let octets = FleetStateFile.octets(claims, identifier: identifier)
        #expect(FleetStateFile.claims(octets) == claims)
        #expect(FleetStateFile.identifier(octets) == identifier)
        let allowed: [UInt64?] = [15, nil, 985]
        #expect(claim().allowed == allowed)
    }

    @Test(arguments: [
        "", "httpdnsd fleet 2\n", "httpdnsd fleet 1\n1 2 3\n", "\u{0}",
        "httpdnsd fleet 1\n1 2 0 1 1 1 - - - - - - a\n",
        "httpdnsd fleet 1\nx 2 1 1 1 1 - - - - - - a\n",
    ])
    func `unreadable lines are ignored`(text: String) {
        #expect(FleetStateFile.claims(Array(text.utf8)).isEmpty)
        #expect(FleetStateFile.identifier(Array(text.utf8)) == nil)
    }

    @Test
    @ServiceLoop
    func `the identifier is the same after a restart, but different on another machine`() throws {
        let (one, other) = (try TemporaryFolder(), try TemporaryFolder())
        let first = FleetStateFile(directory: one.path).identifier()
        FleetStateFile(directory: one.path).store("a", claim())
        #expect(FleetStateFile(directory: one.path).identifier() == first)
        #expect(FleetStateFile(directory: one.path).claims()["a"] == claim())
        #expect(FleetStateFile(directory: other.path).identifier() != first)
    }
}
