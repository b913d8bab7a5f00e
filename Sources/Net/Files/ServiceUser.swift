// SPDX-License-Identifier: Apache-2.0

/// User and groups of a systemd service.
package struct ServiceUser: Hashable, Sendable {
    /// Nil for a user that exists only while the service runs (`DynamicUser=`).
    package var user: UInt32?

    package var groups: Set<UInt32>

    package init(user: UInt32?, groups: Set<UInt32>) {
        (self.user, self.groups) = (user, groups)
    }
}
