// SPDX-License-Identifier: Apache-2.0
import Configuration
import Testing

@testable import Administration

@Suite("Result of a reload")
struct ReloadOutcomeTests {
    @Test("a reload notes that systemd credentials change only with a restart")
    func credentialNote() throws {
        var outcome = ReloadOutcome(usesCredentials: true)
        #expect(outcome.notes.count == 1 && outcome.notes[0].contains("systemctl restart httpdnsd"))
        outcome.changes = [SettingsChange(secret: "vendors.t.token")]
        #expect(outcome.notes.isEmpty)
        #expect(ReloadOutcome().notes.isEmpty)
    }
}
