// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Pause` and `Resume`: exactly one.
package struct PauseRequest: CallParameters, Equatable {
    package var vendor: String?

    package var upstream: String?

    /// A vendor, otherwise an upstream.
    package var name: String?

    /// Creates the request.
    package init(vendor: String? = nil, upstream: String? = nil, name: String? = nil) {
        self.vendor = vendor
        self.upstream = upstream
        self.name = name
    }

    /// A vendor or an upstream.
    package enum Subject: Sendable, Hashable {
        case vendor(String)
        case upstream(String)

        /// A vendor, otherwise an upstream.
        case either(String)
    }

    /// Returns the selected vendor or upstream.
    ///
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

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case vendor, upstream, name }
}

/// Reply to `Pause` and `Resume`.
package struct PauseReply: Codable, Sendable, Equatable {
    package var vendor: String?

    package var upstream: String?

    package var changed: Bool

    /// Vendor calls in flight, which continue; 0 for an upstream.
    package var inFlight: Int

    /// Reason of the pause; nil if used.
    package var rest: VendorRest?

    /// Creates the reply for a vendor.
    package init(vendor: String, changed: Bool, inFlight: Int, rest: VendorRest?) {
        self.vendor = vendor
        self.changed = changed
        self.inFlight = inFlight
        self.rest = rest
    }

    /// Creates the reply for an upstream.
    package init(upstream: String, changed: Bool, isPaused: Bool) {
        self.upstream = upstream
        self.changed = changed
        inFlight = 0
        rest = isPaused ? VendorRest(by: .operator) : nil
    }
}
