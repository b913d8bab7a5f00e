// SPDX-License-Identifier: Apache-2.0
internal import Configuration
package import Control
internal import DNSWire
internal import HTTPDNS
internal import Net

extension ControlHandler {
    package func prove(
        _ request: ProveRequest,
        _ send: Send<ProveReply>?
    ) async throws -> ProveReply {
        guard let vendor = daemon.state.vendors.first(where: { $0.client.name == request.vendor })
        else { throw MethodError.notFound(what: "vendor `\(request.vendor.shortened)`") }
        let limit = request.maxUnits ?? ControlLimits.provedUnits
        let name = try request.name.map { try Self.name($0, "name") } ?? usualName(vendor)
        let proofs: [ProofCase]
        do {
            proofs = try vendor.settings.proofs(
                name: name,
                unknown: try Name("httpdnsd-prove-\(UInt32.random(in: 0 ... .max)).example.com"),
                client: .v4(IPv4Address(value: 0xCB00_7101))
            )
        } catch {
            throw MethodError.failed(reason: "cannot make the calls: \(error)")
        }
        let units = min(limit, proofs.reduce(0) { $0 + vendor.client.maximumUnits($1) })
        var reply = ProveReply(
            vendor: vendor.client.name,
            name: "\(name)",
            calls: proofs.count,
            units: units
        )
        reply.money = BilledCost(units, isSpent: false, vendor.client.statistics)
        guard request.plan != true else { return reply }
        guard !isProving else {
            throw MethodError.failed(reason: "another `prove` is running; try again later")
        }
        isProving = true
        defer { isProving = false }
        var left = limit
        for proof in proofs {
            try Task.checkCancellation()
            let step = await self.step(proof, of: vendor, &left)
            if let send {
                var part = reply
                part.steps = [step]
                try await send(part)
            } else {
                reply.steps.append(step)
            }
        }
        return reply
    }

    private func step(
        _ proof: ProofCase,
        of vendor: (settings: VendorSettings, client: VendorClient),
        _ left: inout UInt64
    ) async -> ProofStep {
        var step = ProofStep(
            label: proof.label,
            expected: "\(proof.expectation)",
            result: "not tested (the call could exceed the limit of units)"
        )
        guard vendor.client.maximumUnits(proof) <= left else { return step }
        let result = await vendor.client.prove(proof)
        left -= min(left, result.units.atMost)
        let hidden = vendor.settings.accountNumbers
        step.units = result.units.atMost
        step.status = result.reply?.status
        if !result.request.isEmpty { step.request = result.request.hiding(hidden) }
        switch result.outcome {
        case .success(let answers): step.result = answers.map(\.description).joined(separator: "; ")
        case .failure(let error): step.result = "\(error)"
        }
        switch proof.isMet(by: result) {
        case true?: step.verdict = .agrees
        case false?: step.verdict = .differs
        case nil: step.result = "not tested (\(step.result))"
        }
        let clients = (try? result.outcome.get())?.compactMap { $0.client.map { "\($0)" } } ?? []
        if proof.isReadable, let reply = result.reply {
            step.vector = ProofVector(
                vendor: vendor.settings.account.kind.rawValue + " " + proof.label,
                names: proof.query.names.map { "\($0)" },
                types: (proof.query.families.includesV4 ? ["A"] : [])
                    + (proof.query.families.includesV6 ? ["AAAA"] : []),
                status: reply.status,
                body: String(decoding: reply.body, as: Unicode.UTF8.self).hiding(hidden)
                    .hiding(clients, as: "203.0.113.1")
            )
        }
        return step
    }

    /// Returns the first domain of the vendor's routes that is a host name; if there is none, the
    /// vendor's probe name.
    ///
    /// Domains such as `*.example.com` are skipped, because the route does not cover `example.com`.
    private func usualName(_ vendor: (settings: VendorSettings, client: VendorClient)) -> Name {
        let domains = daemon.state.settings.routes
            .filter { $0.vendors.contains(vendor.settings.name) }.flatMap(\.domains)
        let known = domains.first { pattern in
            if case .below = pattern { false } else { pattern.domain.isHostname }
        }
        return known?.domain ?? vendor.client.probeName
    }
}

extension String {
    fileprivate func hiding(_ texts: [String], as other: String = "…") -> String {
        texts.filter { !$0.isEmpty }.reduce(self) { text, hidden in
            text.replacing(hidden, with: other)
        }
    }
}
