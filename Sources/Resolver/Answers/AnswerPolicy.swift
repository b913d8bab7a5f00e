// SPDX-License-Identifier: Apache-2.0

/// Settings that change answers.
package struct AnswerPolicy: Sendable {
    /// Treatment of SVCB and HTTPS records for names that vendors answer.
    package enum ServiceBindings: Sendable {
        /// Hints are replaced by cached addresses, or removed.
        case align

        case forward

        /// The answer is NODATA.
        case block
    }

    package var serviceBindings = ServiceBindings.align

    /// True if AAAA queries are answered NODATA (`aaaa: suppress`).
    package var suppressesAAAA = false

    package var rebinding = Rebinding()

    /// Order of the addresses of a name.
    package enum Order: Sendable {
        /// The order of the source; the cache may rotate its copy (`order: rotate`).
        case asReceived

        /// The address that accepts connections fastest comes first.
        case fastest([ProbeRule])
    }

    /// Names whose servers are probed, and the port.
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
