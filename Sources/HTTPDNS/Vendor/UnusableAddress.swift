// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension IPAddress {
    /// Whether no server on the Internet can have this address, whoever asks.
    ///
    /// A vendor that says 0.0.0.0 means "I will not tell"; one that says 127.0.0.1 leads the
    /// client to its own services.  Private addresses can be right, and are the route's to judge.
    var isUnusable: Bool { reach == .none }
}
