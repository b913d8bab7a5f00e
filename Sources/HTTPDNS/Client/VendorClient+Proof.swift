// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

extension VendorClient {
    package func maximumUnits(_ each: ProofCase) -> UInt64 {
        price(of: each).total(each.query)
    }

    /// Sends a test call once to the current server, and charges the call to the budget.
    package func prove(_ each: ProofCase) async -> ProofResult {
        if let error = obstacle(clocks.now()) { return ProofResult(outcome: .failure(error)) }
        let inquiry = AddressInquiry(
            lookup: each.query,
            server: server(of: each),
            charges: ShortArray(
                each.query.names.map { CostTable.Charge(name: $0, route: "httpdnsctl prove") }
            ),
            client: nil,
            isPaced: true
        )
        let price = price(of: each)
        var request: HTTPRequest
        let receipt: Budget.Receipt?
        do throws(VendorError) {
            (request, receipt) = try prepare(
                inquiry,
                of: each.vendor,
                offset: (skew.offset ?? 0) &+ each.clockOffset,
                fresh: false,
                by: price
            )
        } catch {
            return ProofResult(outcome: .failure(error))
        }
        request.version = each.version ?? settings.version
        let (sent, wasSent) = await send(request, until: clocks.now() + settings.timeout)
        let (result, units) = read(
            sent,
            to: inquiry,
            of: each.vendor,
            wasSent: wasSent,
            receipt,
            by: price
        )
        return ProofResult(
            request: request.redacted,
            units: units,
            reply: try? sent.get(),
            outcome: result
        )
    }

    private func server(of each: ProofCase) -> SocketAddress {
        let facts = each.vendor.facts
        guard facts.usesTLS != self.facts.usesTLS else { return pool.current }
        return SocketAddress(octets: pool.current.octets, port: facts.defaultPort) ?? pool.current
    }

    private func price(of each: ProofCase) -> PriceModel {
        guard settings.price != nil else { return each.vendor.price }
        var model = price
        model.weight = max(model.weight, each.vendor.price.weight)
        return model
    }
}
