// SPDX-License-Identifier: Apache-2.0

/// The file in which the cache survives a restart.
package struct SnapshotStatus: Codable, Sendable, Equatable {
    /// Its path.
    package var path: String

    /// How long ago it was written, by this daemon or the one before; nil if that is not known.
    package var ageSeconds: Int?

    /// Answers in it.
    package var entries: UInt64 = 0

    /// Its length, in octets.
    package var octets: UInt64 = 0

    /// Why it could not be read or written when that was tried last; nil if it could.
    package var lastError: String?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case path
        case ageSeconds = "age-seconds"
        case entries, octets
        case lastError = "last-error"
    }

    /// Makes the status of a file of which nothing is known.
    package init(path: String) { self.path = path }
}
