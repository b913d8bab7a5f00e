// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import Daemon

@Suite("Result of a reload")
struct PreparedReloadTests {
    @Test("a reload without a changed secret returns a note: changed credentials need a restart")
    func credentialNote() throws {
        let note = try #require(PreparedReload.credentialNotes([])?.first)
        #expect(note.contains("systemctl restart httpdnsd"))
        let change = SettingChange(path: "vendors.t.token", kind: .secret, old: nil, new: nil)
        #expect(PreparedReload.credentialNotes([change]) == nil)
    }
}
