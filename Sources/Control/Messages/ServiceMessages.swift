// SPDX-License-Identifier: Apache-2.0

/// The interface of every Varlink service, `org.varlink.service`.
package enum ServiceInterface {
    /// Name of the interface.
    package static let name = "org.varlink.service"

    /// Method that describes the service and lists its interfaces.
    package static let getInfo = name + ".GetInfo"

    /// Method that returns the description of an interface.
    package static let getInterfaceDescription = name + ".GetInterfaceDescription"
}

/// Arguments of a method without parameters.
package struct NoParameters: CallParameters, Equatable {
    /// Creates empty arguments.
    package init() {}

    /// No names.
    package enum CodingKeys: CodingKey, CaseIterable {}
}

/// Reply to `org.varlink.service.GetInfo`.
package struct InfoReply: Codable, Sendable, Equatable {
    /// Vendor of the service.
    package var vendor: String

    /// Name of the service.
    package var product: String

    /// Version of the service.
    package var version: String

    /// URL of the documentation.
    package var url: String

    /// Interfaces of the service; its own comes first.
    package var interfaces: [String]

    /// Creates the reply from its parts.
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

/// Arguments of `org.varlink.service.GetInterfaceDescription`.
package struct DescriptionRequest: CallParameters, Equatable {
    /// Name of the interface.
    package var interface: String

    /// Creates the request.
    package init(interface: String) { self.interface = interface }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case interface }
}

/// Reply to `org.varlink.service.GetInterfaceDescription`.
package struct DescriptionReply: Codable, Sendable, Equatable {
    /// Interface in Varlink's definition language.
    package var description: String

    /// Creates the reply.
    package init(description: String) { self.description = description }
}
