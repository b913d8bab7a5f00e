// SPDX-License-Identifier: Apache-2.0

package struct SnapshotStatus: Codable, Sendable, Equatable {
    package var path: String

    package var ageSeconds: Int?

    package var entries: UInt64 = 0
    package var octets: UInt64 = 0
    package var lastError: String?
    package init(path: String) { self.path = path }
}
