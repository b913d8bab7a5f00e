// SPDX-License-Identifier: Apache-2.0
import Foundation
import Fuzzing
import Testing

@Suite("Replay of fuzzing seeds and findings")
struct ReplayTests {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fuzzing")

    private static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [(URL, [UInt8])] {
        let place = folder.appending(path: "\(kind)/\(target.name)")
        guard FileManager.default.fileExists(atPath: place.path) else { return [] }
        let files = try FileManager.default.contentsOfDirectory(
            at: place,
            includingPropertiesForKeys: nil
        )
        return try files.sorted { $0.path < $1.path }.map {
            ($0, [UInt8](try Data(contentsOf: $0)))
        }
    }

    @Test("each seed and finding satisfies the invariants of its target", arguments: FuzzTarget.all)
    func replay(_ target: FuzzTarget) throws {
        let seeds = try Self.inputs("Seeds", target)
        #expect(!seeds.isEmpty, "\(target.name) has no seeds")
        for (file, input) in seeds + (try Self.inputs("Findings", target)) {
            #expect(throws: Never.self, "\(file.lastPathComponent)") { try target.check(input) }
        }
    }

    @Test("each prefix of a seed satisfies the invariants of its target", arguments: FuzzTarget.all)
    func cut(_ target: FuzzTarget) throws {
        for (file, input) in try Self.inputs("Seeds", target) where input.count < 300 {
            for count in input.indices {
                #expect(throws: Never.self, "\(count) octets of \(file.lastPathComponent)") {
                    try target.check(Array(input[..<count]))
                }
            }
        }
    }

    @Test("each folder of inputs has the name of a target", arguments: ["Seeds", "Findings"])
    func folders(_ kind: String) throws {
        let names = FuzzTarget.all.map(\.name)
        #expect(Set(names).count == names.count)
        let path = Self.folder.appending(path: kind).path
        guard FileManager.default.fileExists(atPath: path) else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where !name.hasSuffix(".md") { #expect(names.contains(name), "\(kind)/\(name)") }
    }

    @Test("all seeds together have less than 1 MiB")
    func size() throws {
        let octets = try FuzzTarget.all.flatMap { try Self.inputs("Seeds", $0) }
            .reduce(0) { $0 + $1.1.count }
        #expect(octets < 1 << 20)
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    package var testDescription: String { name }
}
