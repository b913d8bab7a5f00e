// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("The program that answers in the kernel")
struct ProgramTests {
    @Test("what is built in is what its source says")
    func made() throws {
        let run = try Run(Repository.root.appending(path: "scripts/bpf"), ["--check"])
        #expect(run.code == 0, "\(run.output) \(run.errors)")
    }
}
