// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Resolver

extension AnswerPolicy {
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
