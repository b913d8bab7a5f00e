// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

enum Output {
    static var isColoured: Bool {
        isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").isEmpty
            && environment("TERM") != "dumb"
    }

    static var palette: Palette { Palette(isEnabled: isColoured, width: width) }

    private static var width: Int? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        var size = winsize()
        // SAFETY: TIOCGWINSZ writes one structure.
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return max(40, Int(size.ws_col))
    }

    /// - Throws: if a write fails. If the reader has closed the pipe, the status of the error is
    ///   `ok`.
    static func write(_ text: String) throws(Failure) {
        guard !text.isEmpty, let fault = writeAll(Array(text.utf8), to: STDOUT_FILENO)
        else { return }
        guard fault != EPIPE else { throw Failure(message: "output closed", status: .ok) }
        throw Failure(message: "cannot write the output: \(systemMessage(fault))")
    }

    static func error(_ message: String) {
        _ = writeAll(
            Array((message.hasSuffix("\n") ? message : message + "\n").utf8),
            to: STDERR_FILENO
        )
    }

    static func progress(_ message: String) {
        _ = writeAll(Array(("\r\u{1B}[K" + message).utf8), to: STDERR_FILENO)
    }

    private static func environment(_ name: String) -> String {
        // SAFETY: the string is copied, and this program never changes its environment.
        guard let value = unsafe getenv(name) else { return "" }
        return unsafe String(cString: value)
    }
}

func systemMessage(_ number: Int32) -> String {
    // SAFETY: strerror returns a C string that stays valid until the next call of strerror. This
    // program has one thread.
    unsafe String(cString: strerror(number))
}

enum JSONOutput {
    /// Returns the value as JSON with sorted keys and escaped control characters.
    static func text(_ value: some Encodable, indented: Bool) throws(Failure) -> String {
        do {
            return escaped(
                String(decoding: try JSONText.encode(value, indented: indented), as: UTF8.self)
            )
        } catch {
            throw Failure(message: "cannot encode the reply as JSON: \(error)")
        }
    }

    private static func escaped(_ json: String) -> String {
        httpdnsctl.escaped(json, unless: { $0 == "\n" || isPrintable($0) }) { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }
}
