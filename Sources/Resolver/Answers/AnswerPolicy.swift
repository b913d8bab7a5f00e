// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Settings that change answers.
package struct AnswerPolicy: Sendable {
    /// Treatment of SVCB and HTTPS queries for names with a route to vendors.
    package enum ServiceBindings: Sendable {
        /// Replaces the address hints with cached addresses; removes the hints if there are none.
        case align

        case forward

        case block
    }

    package var serviceBindings = ServiceBindings.align

    package var suppressesA = false

    package var suppressesAAAA = false

    var suppressed: Set<RecordType> {
        Set((suppressesA ? [.a] : []) + (suppressesAAAA ? [.aaaa] : []))
    }

    /// Names that get synthesized addresses (`dns64`).
    package enum Synthesis: Sendable {
        case vendors
        case all
        case off
    }

    package var synthesis = Synthesis.off

    /// NAT64 prefix of the option `nat64`.
    ///
    /// The prefix is used even if this machine does not use NAT64, because the clients may use
    /// NAT64.
    package var nat64: NAT64Prefix?

    package var rebinding = Rebinding()

    /// Order of the addresses in an answer.
    package enum Order: Sendable {
        /// Order in the reply of the source.
        ///
        /// The setting `order: rotate` also selects this case: the resolver keeps the order, and
        /// the cache rotates the addresses.
        case asReceived

        case fastest([ProbeRule])
    }

    /// Pattern of names, and the port for measurements of connection times.
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
