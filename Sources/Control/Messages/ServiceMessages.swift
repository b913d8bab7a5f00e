// SPDX-License-Identifier: Apache-2.0

/// Interface of every Varlink service.
package enum ServiceInterface {
    package static let name = "org.varlink.service"
    package static let getInfo = name + ".GetInfo"
    package static let getInterfaceDescription = name + ".GetInterfaceDescription"
}

package struct NoParameters: CallParameters, Equatable {
    package init() {}

    package enum CodingKeys: CodingKey, CaseIterable {}
}

package struct InfoReply: Codable, Sendable, Equatable {
    package var vendor: String
    package var product: String
    package var version: String
    package var url: String
    package var interfaces: [String]

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

package struct DescriptionRequest: CallParameters, Equatable {
    package var interface: String

    package enum CodingKeys: CodingKey, CaseIterable { case interface }
}

package struct DescriptionReply: Codable, Sendable, Equatable {
    package var description: String
    package init(description: String) { self.description = description }
}
