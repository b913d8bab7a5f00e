// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Pause` and `Resume`.
package struct VendorRequest: CallParameters, Equatable {
    /// The name of the vendor in the settings.
    package var vendor: String

    /// Makes the request.
    package init(vendor: String) { self.vendor = vendor }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case vendor }
}

/// The reply to `Pause` and `Resume`: how the vendor is left.
package struct VendorChange: Codable, Sendable, Equatable {
    /// The name of the vendor.
    package var vendor: String

    /// Whether anything is other than it was.
    package var changed: Bool

    /// Calls under way, which go on.
    package var inFlight: Int

    /// Why the vendor is not asked; nil if it is.
    package var rest: VendorRest?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case vendor, changed
        case inFlight = "in-flight"
        case rest
    }

    /// Makes the reply of its parts.
    package init(vendor: String, changed: Bool, inFlight: Int, rest: VendorRest?) {
        self.vendor = vendor
        self.changed = changed
        self.inFlight = inFlight
        self.rest = rest
    }
}
