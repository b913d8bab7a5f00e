// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// An answer and the sibling answers that came with it.
package struct ResolvedAnswer: Sendable {
    package var resolution: Resolution

    /// Answers to other questions from the same call, such as the other family: cached, not sent.
    package var siblings: [(question: Question, resolution: Resolution)]

    /// Creates an answer with its siblings.
    package init(
        _ resolution: Resolution,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        self.resolution = resolution
        self.siblings = siblings
    }
}
