// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension IPAddress {
    /// True if no server can have this address; private addresses are usable.
    var isUnusable: Bool { reach == .none }
}
