// SPDX-License-Identifier: Apache-2.0

package struct SnapshotStatus: Codable, Sendable, Equatable {
    package var path: String

    /// Time since the file was written, by this process or an earlier process.
    package var ageSeconds: Int?

    package var entries: UInt64 = 0
    package var octets: UInt64 = 0
    package var lastError: String?
    package init(path: String) { self.path = path }
}
