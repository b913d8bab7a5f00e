// SPDX-License-Identifier: Apache-2.0

/// Interface of every Varlink service.
package enum ServiceInterface {
    package static let name = "org.varlink.service"

    /// Lists the interfaces.
    package static let getInfo = name + ".GetInfo"

    /// Describes an interface.
    package static let getInterfaceDescription = name + ".GetInterfaceDescription"
}

/// Empty arguments.
package struct NoParameters: CallParameters, Equatable {
    /// Creates empty arguments.
    package init() {}

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable {}
}

/// Reply to `GetInfo`.
package struct InfoReply: Codable, Sendable, Equatable {
    package var vendor: String

    package var product: String

    package var version: String

    package var url: String

    /// The own interface first.
    package var interfaces: [String]

    /// Creates the reply.
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

/// Arguments of `GetInterfaceDescription`.
package struct DescriptionRequest: CallParameters, Equatable {
    package var interface: String

    /// Creates the request.
    package init(interface: String) { self.interface = interface }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case interface }
}

/// Reply to `GetInterfaceDescription`.
package struct DescriptionReply: Codable, Sendable, Equatable {
    /// In Varlink's definition language.
    package var description: String

    /// Creates the reply.
    package init(description: String) { self.description = description }
}
