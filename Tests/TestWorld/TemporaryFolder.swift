// SPDX-License-Identifier: Apache-2.0
private import Foundation
package import Glibc

package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/httpdnsd-settings-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError(code: errno) }
        path = String(cString: made)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func write(_ octets: [UInt8], to name: String, mode: mode_t = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemError(code: errno) }
            rest = rest.dropFirst(count)
        }
        // Sets the mode again, because the umask may have changed it.
        guard fchmod(descriptor, mode) == 0 else { throw SystemError(code: errno) }
        return file
    }

    package func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try write([UInt8](text.utf8), to: name, mode: mode)
    }
}

private struct SystemError: Error {
    let code: CInt
}
