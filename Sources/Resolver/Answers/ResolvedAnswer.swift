// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Answer with the sibling answers of the same call.
package struct ResolvedAnswer: Sendable {
    package var resolution: Resolution

    /// Answers to other questions, such as the other family; they are cached, not sent.
    package var siblings: [(question: Question, resolution: Resolution)]

    package init(
        _ resolution: Resolution,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        self.resolution = resolution
        self.siblings = siblings
    }
}
