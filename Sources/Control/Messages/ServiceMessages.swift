// SPDX-License-Identifier: Apache-2.0

/// The interface every Varlink service has, `org.varlink.service`.
package enum ServiceInterface {
    /// The name of the interface.
    package static let name = "org.varlink.service"

    /// The method that tells what the service is and which interfaces it has.
    package static let getInfo = name + ".GetInfo"

    /// The method that gives the text of an interface.
    package static let getInterfaceDescription = name + ".GetInterfaceDescription"
}

/// The arguments of a method that takes none.
package struct NoParameters: CallParameters, Equatable {
    /// Makes no arguments.
    package init() {}

    /// No names.
    package enum CodingKeys: CodingKey, CaseIterable {}
}

/// The reply to `org.varlink.service.GetInfo`.
package struct InfoReply: Codable, Sendable, Equatable {
    /// Who makes the service.
    package var vendor: String

    /// What the service is called.
    package var product: String

    /// Its version.
    package var version: String

    /// Where to read about it.
    package var url: String

    /// The interfaces it has, this one first.
    package var interfaces: [String]

    /// Makes the reply of its parts.
    package init(
        vendor: String,
        product: String,
        version: String,
        url: String,
        interfaces: [String]
    ) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.interfaces = interfaces
    }
}

/// The arguments of `org.varlink.service.GetInterfaceDescription`.
package struct DescriptionRequest: CallParameters, Equatable {
    /// The name of the interface.
    package var interface: String

    /// Makes the request.
    package init(interface: String) { self.interface = interface }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case interface }
}

/// The reply to `org.varlink.service.GetInterfaceDescription`.
package struct DescriptionReply: Codable, Sendable, Equatable {
    /// The text of the interface in Varlink's definition language.
    package var description: String

    /// Makes the reply.
    package init(description: String) { self.description = description }
}
