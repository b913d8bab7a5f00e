// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

enum Files {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    static let credentials = folder.appending(path: "Credentials").path

    static let scenarios: [String] = {
        let place = folder.appending(path: "Scenarios").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        return names.filter { $0.hasSuffix(".rpl") }.sorted()
    }()

    static func scenario(_ name: String) throws -> Scenario {
        let place = folder.appending(path: "Scenarios").appending(path: name)
        return try ScenarioReader.read(String(contentsOf: place, encoding: .utf8), file: name)
    }
}
