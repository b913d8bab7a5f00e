// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Pause` and `Resume`; a call must have exactly one argument.
package struct PauseRequest: CallParameters, Equatable {
    package var vendor: String?
    package var upstream: String?

    package var name: String?

    package init(vendor: String? = nil, upstream: String? = nil, name: String? = nil) {
        self.vendor = vendor
        self.upstream = upstream
        self.name = name
    }

    package enum Subject: Sendable, Hashable {
        case vendor(String)
        case upstream(String)

        /// Vendor with this name; if there is no such vendor, the upstream with this name.
        case either(String)
    }

    /// - Throws: `invalidArgument` unless exactly one argument is given.
    package func subject() throws(MethodError) -> Subject {
        switch (vendor, upstream, name) {
        case (let vendor?, nil, nil): .vendor(vendor)
        case (nil, let upstream?, nil): .upstream(upstream)
        case (nil, nil, let name?): .either(name)
        default:
            throw .invalidArgument(
                argument: "vendor",
                reason: "give exactly one of vendor, upstream and name"
            )
        }
    }

    package enum CodingKeys: CodingKey, CaseIterable { case vendor, upstream, name }
}

package struct PauseReply: Codable, Sendable, Equatable {
    package var vendor: String?
    package var upstream: String?
    package var changed: Bool
    package var inFlight: Int

    package var rest: VendorRest?

    package var problems: [String]?

    package init(vendor: String, changed: Bool, inFlight: Int, rest: VendorRest?) {
        self.vendor = vendor
        self.changed = changed
        self.inFlight = inFlight
        self.rest = rest
    }

    package init(upstream: String, changed: Bool, isPaused: Bool) {
        self.upstream = upstream
        self.changed = changed
        inFlight = 0
        rest = isPaused ? VendorRest(by: .operator) : nil
    }
}
