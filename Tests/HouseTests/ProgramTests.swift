// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("BPF program")
struct ProgramTests {
    @Test("the embedded program was compiled from its source")
    func made() throws {
        let run = try Run(Repository.root.appending(path: "scripts/bpf"), ["--check"])
        #expect(run.code == 0, "\(run.output) \(run.errors)")
    }
}
