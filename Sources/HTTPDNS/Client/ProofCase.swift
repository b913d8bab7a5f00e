// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Call of `httpdnsctl prove`, which compares a vendor's reply with what the code expects.
package struct ProofCase: Sendable {
    package enum Expectation: Sendable, Hashable {
        case addresses

        /// A readable reply, with or without addresses.
        case readable

        case noAddress

        /// A readable reply that names this client address, if the vendor reports a client address.
        case client(IPAddress)

        /// An error status or an error code of the vendor.
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

    /// True if a reply can be parsed without a key.
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
    package func isMet(by result: ProofResult) -> Bool {
        switch (expectation, result.outcome) {
        case (.refusal, .failure(let error)):
            if case .transport = error { false } else { result.reply != nil }
        case (.certificateError, .failure(.transport(.tls))): true
        case (.refusal, .success), (.certificateError, _), (_, .failure): false
        case (.addresses, .success(let answers)): answers.contains { !$0.isEmpty }
        case (.noAddress, .success(let answers)): answers.allSatisfy(\.isEmpty)
        case (.readable, .success): true
        case (.client(let address), .success(let answers)):
            answers.allSatisfy { $0.client.map { $0.unmapped == address } ?? true }
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
        case .client(let address): "a reply for client \(address)"
        case .refusal: "a refusal"
        case .certificateError: "a certificate error"
        case .version(let version): "a readable reply over HTTP/\(version)"
        }
    }
}

// MARK: - Sending

extension VendorClient {
    package func maximumUnits(_ each: ProofCase) -> UInt64 {
        price(of: each).maximum(each.query).reduce(0, +)
    }

    /// Sends the call to the current server, and charges it to the budget.
    ///
    /// The result does not change the health of servers and account. If a look-up could not be sent
    /// now, the proof fails without a request.
    package func prove(_ each: ProofCase) async -> ProofResult {
        if let error = obstacle(clocks.now()) { return ProofResult(outcome: .failure(error)) }
        let inquiry = AddressInquiry(
            lookup: each.query,
            server: server(of: each),
            charges: each.query.names.map { CostTable.Charge(name: $0, route: "") },
            client: nil,
            isPaced: true
        )
        var result = ProofResult(outcome: .failure(.outOfTime))
        let receipt: Budget.Receipt
        var request: HTTPRequest
        do throws(VendorError) {
            request = try inquiry.request(
                to: each.vendor,
                now: clocks.wallSeconds() &+ (skew.offset ?? 0) &+ each.clockOffset,
                entropy: entropy
            )
            guard let paid = try pay(inquiry, by: price(of: each)) else { return result }
            receipt = paid
        } catch {
            return ProofResult(outcome: .failure(error))
        }
        request.certificateFile = settings.certificateFile
        request.version = each.version ?? settings.version
        request.proxy = settings.proxy
        request.isSentOnce = true
        result.request = request.redacted
        let (sent, wasSent) = await send(request)
        if case .success(let reply) = sent {
            noteReply(reply, inquiry)
            result.reply = reply
        }
        result.outcome = Result { () throws(VendorError) in
            try inquiry.value(in: try sent.mapError(VendorError.transport).get(), of: each.vendor)
        }
        let (fate, mayBeBilled): (PriceModel.Fate, Bool) =
            switch result.outcome {
            case .success(let answers): (.answered(answers), true)
            case .failure(let error):
                (error.fate(wasSent && error.mayBeBilled), wasSent && error.mayBeBilled)
            }
        result.units = price(of: each).units(of: each.query, fate).reduce(.zero, +)
        settle(
            inquiry,
            receipt,
            fate,
            mayBeBilled: mayBeBilled,
            by: price(of: each)
        )
        return result
    }

    private func send(_ request: HTTPRequest) async -> (Result<HTTPReply, HTTPError>, Bool) {
        var handle: (any RequestHandle)?
        let deadline = clocks.now() + settings.timeout
        let result = await withCheckedContinuation { continuation in
            handle = transport.send(request, deadline: deadline) {
                continuation.resume(returning: $0)
            }
        }
        return (result, handle?.wasSent ?? true)
    }

    /// Returns the current server, with the default port if the call has another scheme.
    private func server(of each: ProofCase) -> SocketAddress {
        let facts = each.vendor.facts
        guard facts.usesTLS != self.facts.usesTLS else { return pool.current }
        return SocketAddress(octets: pool.current.octets, port: facts.defaultPort) ?? pool.current
    }

    /// Returns the price rules for the vendor options of the call.
    ///
    /// The weight in the settings is for the options in the settings, so it is only a lower limit.
    private func price(of each: ProofCase) -> PriceModel {
        guard settings.price != nil else { return each.vendor.price }
        var model = price
        model.weight = max(model.weight, each.vendor.price.weight)
        return model
    }
}
