// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Server

/// A folder of its own for the files of one test, gone when the test ends.
final class TemporaryFolder: Sendable {
    /// The absolute path, without a final slash.
    let path: String

    init() throws {
        var template = Array("/tmp/httpdnsd-settings-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        path = String(cString: made)
    }

    deinit {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(path)/\(name)")
        }
        closedir(folder)
        rmdir(path)
    }

    /// Writes a file and returns its path.
    func write(_ octets: [UInt8], to name: String, mode: mode_t = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            try #require(count > 0)
            rest = rest.dropFirst(count)
        }
        // The mask of the process must not hide what the test is about.
        try #require(fchmod(descriptor, mode) == 0)
        return file
    }

    /// Writes a text and returns the file's path.
    func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try write([UInt8](text.utf8), to: name, mode: mode)
    }
}

/// The errors of a text, as they are printed; none if it is a good one.
func problems(
    in text: String,
    environment: SettingsEnvironment = SettingsEnvironment()
) -> [String] {
    problems(in: [UInt8](text.utf8), environment: environment)
}

/// The errors of octets that need not be text.
func problems(
    in octets: [UInt8],
    environment: SettingsEnvironment = SettingsEnvironment()
) -> [String] {
    var found: [String] = []
    do throws(SettingsErrors) {
        _ = try Settings(parsing: octets, fileName: "f", environment: environment)
    } catch {
        found = error.problems.map(\.description)
    }
    SchemaJudge.compare(octets, with: found)
    return found
}

/// The settings of a text that is expected to be good.
func settings(
    of text: String,
    environment: SettingsEnvironment = SettingsEnvironment()
) throws -> Settings {
    let settings = try Settings(parsing: text, fileName: "f", environment: environment)
    SchemaJudge.compare([UInt8](text.utf8), with: [])
    return settings
}

/// One line that makes any file answer something.
let isp = "upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]\n"

/// A labelled text and the errors it has.
struct BadText: Sendable, CustomTestStringConvertible {
    var label: String
    var text: String
    var errors: [String]

    init(_ label: String, _ text: String, _ errors: String...) {
        self.label = label
        self.text = text
        self.errors = errors
    }

    var testDescription: String { label }
}

extension Settings {
    /// The settings without what depends on the lines of their file.
    var withoutPlaces: Settings {
        var copy = self
        copy.warnings = []
        for index in copy.routes.indices { copy.routes[index].place = SettingsPlace() }
        for index in copy.vendors.indices { copy.vendors[index].place = SettingsPlace() }
        for index in copy.upstreams.indices { copy.upstreams[index].place = SettingsPlace() }
        return copy
    }
}

/// Values as they are printed.
func texts(_ values: [some Any]) -> [String] { values.map { "\($0)" } }
