// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// CNAME chain from a question to its answer (RFC 1034 §3.6.2).
package struct AliasChain: Equatable {
    /// The queried name, then the target of each CNAME.
    package var names: [Name]

    package var end: Name { names[names.count - 1] }

    package var ending = Ending.target

    package enum Ending {
        case target

        case loop

        case tooLong
    }
}

extension Message {
    package func aliasChain(from question: Question) -> AliasChain {
        var chain = AliasChain(names: [question.name])
        guard question.type != .cname else { return chain }
        while true {
            let end = chain.end
            let alias = answers.first { $0.type == .cname && $0.name == end }
            guard case .cname(let target)? = alias?.data else { return chain }
            guard !chain.names.contains(target) else {
                chain.ending = .loop
                return chain
            }
            guard chain.names.count <= UpstreamLimits.longestChain else {
                chain.ending = .tooLong
                return chain
            }
            chain.names.append(target)
        }
    }
}
