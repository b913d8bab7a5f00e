// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Resolver

extension AnswerPolicy {
    init(_ settings: Settings) {
        let (answers, protection) = (settings.answers, settings.rebinding)
        self.init()
        serviceBindings =
            switch answers.httpsRecords {
            case .align: .align
            case .forward: .forward
            case .block: .block
            }
        if answers.order == .fastest {
            order = .fastest(
                answers.probe.map { ProbeRule(names: $0.domain, port: $0.port) }
            )
        }
        suppressesA = answers.a == .suppress
        suppressesAAAA = answers.aaaa == .suppress
        synthesis =
            switch settings.dns64 {
            case .vendors: .vendors
            case .all: .all
            case .off: .off
            }
        if case .prefix(let prefix) = settings.nat64 { nat64 = prefix }
        rebinding.protects = protection.protect
        rebinding.exceptions = protection.except
    }
}
