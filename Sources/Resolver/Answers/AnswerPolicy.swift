// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Settings that change answers.
package struct AnswerPolicy: Sendable {
    /// Treatment of SVCB and HTTPS queries for names with a route to vendors.
    package enum ServiceBindings: Sendable {
        /// Replaces the address hints with cached addresses; removes the hints if the cache has no
        /// addresses.
        case align

        case forward

        /// Answers HTTPS and SVCB queries with NODATA.
        case block
    }

    package var serviceBindings = ServiceBindings.align

    /// True if A queries are answered with NODATA (`a: suppress`).
    package var suppressesA = false

    /// True if AAAA queries are answered with NODATA (`aaaa: suppress`).
    package var suppressesAAAA = false

    var suppressed: Set<RecordType> {
        Set((suppressesA ? [.a] : []) + (suppressesAAAA ? [.aaaa] : []))
    }

    /// Names that get synthesized addresses (`dns64`).
    package enum Synthesis: Sendable {
        /// Names with a route to vendors.
        case vendors
        case all
        case off
    }

    package var synthesis = Synthesis.off

    /// NAT64 prefix of the option `nat64`.
    ///
    /// For an IPv6 address under this prefix, the daemon checks if the embedded IPv4 address is
    /// private. The daemon does this even if its own machine does not use NAT64, because the
    /// clients may use NAT64.
    package var nat64: NAT64Prefix?

    package var rebinding = Rebinding()

    /// Order of the addresses in an answer.
    package enum Order: Sendable {
        /// Order of the addresses in the source's reply. Also used for `order: rotate`, because the
        /// cache then rotates the addresses.
        case asReceived

        case fastest([ProbeRule])
    }

    /// Pattern of names, and the port for measurements of connection times.
    ///
    /// The daemon measures the connection times to the addresses of these names, at `port`.
    package struct ProbeRule: Sendable {
        package var names: DomainPattern
        package var port: UInt16

        package init(names: DomainPattern, port: UInt16) {
            self.names = names
            self.port = port
        }
    }

    package var order = Order.asReceived

    package init() {}
}
