// SPDX-License-Identifier: Apache-2.0
import Configuration
import Control

extension FuzzTarget {
    static let settings = FuzzTarget(name: "settings") { octets in
        // With this environment, the parser does not query libcurl or the addresses of the machine.
        // But the parser reads the files that the input names.
        let environment = SettingsEnvironment(hasHTTP3: false)
        let settings: Settings
        do throws(SettingsErrors) {
            settings = try Settings(parsing: octets, fileName: "f", environment: environment)
        } catch {
            let places = SettingsPlaces(of: octets)
            try promise(!error.problems.isEmpty, "refused without a reason")
            for problem in error.problems + error.warnings { try places.judge(problem) }
            return
        }
        for warning in settings.warnings { try SettingsPlaces(of: octets).judge(warning) }
        let text = settings.effectiveText
        let again = try Settings(parsing: text, fileName: "f", environment: environment)
        try promise(again.effectiveText == text, "the settings in effect are others:\n\(text)")
    }
}

private struct SettingsPlaces {
    private let columns: [Int]

    init(of octets: [UInt8]) {
        let text = octets.starts(with: [0xEF, 0xBB, 0xBF]) ? octets.dropFirst(3) : octets[...]
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        columns = lines.map { String(decoding: $0, as: UTF8.self).unicodeScalars.count + 1 }
    }

    func judge(_ problem: SettingsComplaint) throws {
        try promise(
            columns.indices.contains(problem.line - 1)
                && (1...columns[problem.line - 1]).contains(problem.column),
            "there is no \(problem.line):\(problem.column): \(problem)"
        )
        try promise(
            "\(problem)".unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
            "terminal control characters in an error message"
        )
    }
}
