// SPDX-License-Identifier: Apache-2.0

/// What the settings do to answers on their way to clients.
package struct AnswerPolicy: Sendable {
    /// What becomes of SVCB and HTTPS records of names that vendors answer.
    package enum ServiceBindings: Sendable {
        /// The addresses in them are ours, or there are none.
        case align

        /// They pass as they are.
        case forward

        /// There are none.
        case block
    }

    package var serviceBindings = ServiceBindings.align

    /// Whether no name has an IPv6 address.
    package var suppressesAAAA = false

    /// What is done against names that lead into the client's own network.
    package var rebinding = Rebinding()

    /// In which order the addresses of a name come.
    package enum Order: Sendable {
        /// In that of whoever gave them; what a cache does with its own copy is its own affair.
        case asReceived

        /// The one that is fastest to connect to comes first.
        case fastest([ProbeRule])
    }

    /// Names whose servers are tried, and at which port.
    package struct ProbeRule: Sendable {
        package var names: RoutePattern
        package var port: UInt16

        package init(names: RoutePattern, port: UInt16) {
            self.names = names
            self.port = port
        }
    }

    package var order = Order.asReceived

    package init() {}
}
