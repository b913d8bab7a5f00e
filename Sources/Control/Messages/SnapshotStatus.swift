// SPDX-License-Identifier: Apache-2.0

/// State of the file that preserves the cache across restarts.
package struct SnapshotStatus: Codable, Sendable, Equatable {
    /// Path of the file.
    package var path: String

    /// Time since the file was written, by any daemon process; nil if unknown.
    package var ageSeconds: Int?

    /// Number of answers in the file.
    package var entries: UInt64 = 0

    /// Size of the file in octets.
    package var octets: UInt64 = 0

    /// Error of the last read or write; nil if it succeeded.
    package var lastError: String?

    /// Creates a status with only a path.
    package init(path: String) { self.path = path }
}
