// SPDX-License-Identifier: Apache-2.0
import Glibc

@_silgen_name("setfsuid")
private func setfsuid(_ user: uid_t) -> Int32

/// Runs `body`, on this thread only, without root's right to open all files.
func withoutPrivileges<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard geteuid() == 0 else { return try body() }
    // The user 65534 owns no files, so this thread can open only files that all users may open.
    _ = setfsuid(65_534)
    defer { _ = setfsuid(0) }
    return try body()
}
