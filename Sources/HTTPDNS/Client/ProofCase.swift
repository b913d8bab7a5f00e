// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Vendor call of `httpdnsctl prove`, with the expected reply.
package struct ProofCase: Sendable {
    package enum Expectation: Sendable, Hashable {
        case addresses

        case readable

        case noAddress

        /// Without a client address in the reply, the result is undecided.
        case client(IPAddress)

        /// An error status, or an error code of the vendor.
        case refusal

        case certificateError

        case version(String)
    }

    package let label: String

    package var vendor: any Vendor

    package var query: VendorQuery

    package var expectation = Expectation.addresses

    package var version: HTTPVersion?

    package var clockOffset: Int64 = 0

    /// True if the reply can be parsed without the account's key.
    package var isReadable = true

    package init(_ label: String, vendor: any Vendor, query: VendorQuery) {
        self.label = label
        self.vendor = vendor
        self.query = query
    }
}

package struct ProofResult: Sendable {
    package var request = ""

    package var units = UnitRange.zero

    package var reply: HTTPReply?

    package var outcome: Result<[VendorAnswer], VendorError>
}

extension ProofCase {
    /// Returns true if `result` meets the expectation.
    ///
    /// Returns nil if there is no reply, or if the reply lacks the client address to compare.
    package func isMet(by result: ProofResult) -> Bool? {
        switch (expectation, result.outcome) {
        case (_, .failure(.transport(.tls))): expectation == .certificateError
        case (_, .failure(.transport(.broken))), (_, .failure(.transport(.bodyTooLarge))): false
        case (_, .failure) where result.reply == nil: nil
        case (.refusal, .failure): true
        case (.refusal, .success), (.certificateError, _), (_, .failure): false
        case (.addresses, .success(let answers)): answers.contains { !$0.isEmpty }
        case (.noAddress, .success(let answers)): answers.allSatisfy(\.isEmpty)
        case (.readable, .success): true
        case (.client(let address), .success(let answers)):
            answers.contains { $0.client != nil }
                ? answers.allSatisfy { $0.client.map { $0.unmapped == address } ?? true } : nil
        case (.version(let version), .success): result.reply?.version == version
        }
    }
}

extension ProofCase.Expectation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .addresses: "addresses"
        case .readable: "a readable reply"
        case .noAddress: "no address"
        case .client(let address): "a reply with the client address \(address)"
        case .refusal: "a refusal"
        case .certificateError: "a certificate error"
        case .version(let version): "a readable reply over HTTP/\(version)"
        }
    }
}
