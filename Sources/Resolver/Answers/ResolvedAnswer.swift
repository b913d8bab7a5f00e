// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Answer to a query, and answers to other questions from the same vendor call.
package struct ResolvedAnswer: Sendable {
    package var resolution: Resolution

    /// Answers that the resolver adds to the cache, but does not send to the client.
    package var siblings: [(question: Question, resolution: Resolution)]

    package init(
        _ resolution: Resolution,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        self.resolution = resolution
        self.siblings = siblings
    }
}
