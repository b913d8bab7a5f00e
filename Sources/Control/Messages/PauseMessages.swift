// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Pause` and `Resume`: exactly one of them is given.
package struct PauseRequest: CallParameters, Equatable {
    /// Name of a vendor in the settings.
    package var vendor: String?

    /// Name of an upstream in the settings.
    package var upstream: String?

    /// Name of a vendor or, if no vendor has this name, of an upstream.
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

        /// A vendor or, if no vendor has this name, an upstream.
        case either(String)
    }

    /// Returns the vendor or upstream that the arguments select.
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

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case vendor, upstream, name }
}

/// Reply to `Pause` and `Resume`: the new state of the vendor or upstream.
package struct PauseReply: Codable, Sendable, Equatable {
    /// Name of the vendor; nil for an upstream.
    package var vendor: String?

    /// Name of the upstream; nil for a vendor.
    package var upstream: String?

    /// True if the call changed the state.
    package var changed: Bool

    /// Vendor calls in flight, which continue; 0 for an upstream, as its queries end within
    /// seconds.
    package var inFlight: Int

    /// Reason why the vendor or upstream is not used; nil if it is used.
    package var rest: VendorRest?

    /// Creates the reply about a vendor.
    package init(vendor: String, changed: Bool, inFlight: Int, rest: VendorRest?) {
        self.vendor = vendor
        self.changed = changed
        self.inFlight = inFlight
        self.rest = rest
    }

    /// Creates the reply about an upstream.
    package init(upstream: String, changed: Bool, isPaused: Bool) {
        self.upstream = upstream
        self.changed = changed
        inFlight = 0
        rest = isPaused ? VendorRest(by: .operator) : nil
    }
}
