// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Pause` and `Resume`: exactly one of them.
package struct PauseRequest: CallParameters, Equatable {
    /// The name of a vendor in the settings.
    package var vendor: String?

    /// The name of an upstream in the settings.
    package var upstream: String?

    /// The name of a vendor or, if there is none of this name, of an upstream.
    package var name: String?

    /// Makes the request.
    package init(vendor: String? = nil, upstream: String? = nil, name: String? = nil) {
        self.vendor = vendor
        self.upstream = upstream
        self.name = name
    }

    /// A vendor or an upstream.
    package enum Subject: Sendable, Hashable {
        case vendor(String)
        case upstream(String)

        /// A vendor or, if there is none of this name, an upstream.
        case either(String)
    }

    /// The vendor or upstream that is meant.
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

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case vendor, upstream, name }
}

/// The reply to `Pause` and `Resume`: how the vendor or upstream is left.
package struct PauseReply: Codable, Sendable, Equatable {
    /// The name of the vendor; nil if it is an upstream.
    package var vendor: String?

    /// The name of the upstream; nil if it is a vendor.
    package var upstream: String?

    /// Whether anything is other than it was.
    package var changed: Bool

    /// Calls of a vendor under way, which go on; 0 of an upstream, whose queries end within seconds.
    package var inFlight: Int

    /// Why it is not asked; nil if it is.
    package var rest: VendorRest?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case vendor, upstream, changed
        case inFlight = "in-flight"
        case rest
    }

    /// Makes the reply about a vendor.
    package init(vendor: String, changed: Bool, inFlight: Int, rest: VendorRest?) {
        self.vendor = vendor
        self.changed = changed
        self.inFlight = inFlight
        self.rest = rest
    }

    /// Makes the reply about an upstream.
    package init(upstream: String, changed: Bool, isPaused: Bool) {
        self.upstream = upstream
        self.changed = changed
        inFlight = 0
        rest = isPaused ? VendorRest(by: .operator) : nil
    }
}
