// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Settings that change answers.
package struct AnswerPolicy: Sendable {
    /// Treatment of SVCB and HTTPS records for names that vendors answer.
    package enum ServiceBindings: Sendable {
        /// Hints are replaced with cached addresses, or removed.
        case align

        case forward

        /// HTTPS and SVCB queries are answered with NODATA.
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
    /// The IPv4 addresses in addresses under this prefix are checked, even if this machine does not
    /// use NAT64, because the clients of this daemon may use NAT64.
    package var nat64: NAT64Prefix?

    package var rebinding = Rebinding()

    /// Order of the addresses in an answer.
    package enum Order: Sendable {
        /// Order in the source's reply; with `order: rotate`, the cache rotates the addresses.
        case asReceived

        case fastest([ProbeRule])
    }

    /// Names for which connection times to servers are measured, and the TCP port to connect to.
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
