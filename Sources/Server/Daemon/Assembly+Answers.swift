// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Resolver

extension Assembly {
    /// Whether somebody accepts a TCP connection, to whom nothing is sent.
    static func probe(
        _ target: AddressRanking.Target,
        deadline: ContinuousClock.Instant
    ) async -> Bool {
        guard let address = SocketAddress(octets: target.address.octets, port: target.port),
            let connection = try? await StreamConnection.connect(to: address, deadline: deadline)
        else { return false }
        connection.close()
        return true
    }
}

// MARK: - From settings

extension AnswerPolicy {
    /// What the settings say of answers.
    init(_ answers: AnswerSettings, _ protection: RebindingSettings) {
        self.init()
        serviceBindings =
            switch answers.httpsRecords {
            case .align: .align
            case .forward: .forward
            case .block: .block
            }
        if answers.order == .fastest {
            order = .fastest(
                answers.probe.map { ProbeRule(names: RoutePattern($0.domain), port: $0.port) }
            )
        }
        suppressesAAAA = answers.aaaa == .suppress
        rebinding.protects = protection.protect
        rebinding.exceptions = protection.except.map(RoutePattern.init)
    }
}
