// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension IPAddress {
    /// True if no server on the Internet can have this address, for example 0.0.0.0 or 127.0.0.1.
    ///
    /// Private addresses can be correct: the route decides about them.
    var isUnusable: Bool { reach == .none }
}
