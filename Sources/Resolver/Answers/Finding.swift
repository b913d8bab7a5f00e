// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// What a stage found out: the answer to the query, and what came along with it.
package struct Finding: Sendable {
    package var resolution: Resolution

    /// Answers to other questions that the same call brought, such as the name's other family;
    /// worth keeping, and nobody waits for them.
    package var siblings: [(question: Question, resolution: Resolution)]

    /// Puts the parts together.
    package init(
        _ resolution: Resolution,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        self.resolution = resolution
        self.siblings = siblings
    }
}
