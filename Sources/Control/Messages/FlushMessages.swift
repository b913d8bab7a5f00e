// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Flush`: exactly one of `all`, `name`, `tree`, `negative`, `stale` and `source`,
/// and optionally `soft`.
package struct FlushRequest: CallParameters, Equatable {
    /// True for all entries.
    package var all: Bool?

    /// Entries of exactly this name, in presentation form.
    package var name: String?

    /// With `name`: only entries of this type, as a mnemonic or `TYPE65`.
    package var type: String?

    /// Entries of this name and all names below it.
    package var tree: String?

    /// True for negative entries: no such name, no data, or a failure.
    package var negative: Bool?

    /// True for stale entries.
    package var stale: Bool?

    /// Entries from the vendor or upstream with this name in the settings, from any `vendor`, or
    /// from any `upstream`.
    package var source: String?

    /// True to mark entries stale instead of removing them: they are resolved again, and served
    /// stale if that fails.
    package var soft: Bool?

    /// Entries to remove.
    package enum Scope: Sendable, Hashable {
        /// All entries.
        case all

        /// Entries of one name, and only of `type` if given.
        case name(String, type: String?)

        /// Entries of a name and all names below it.
        case tree(String)

        /// Entries without records.
        case negative

        /// Stale entries.
        case stale

        /// Entries from a vendor or upstream.
        case source(String)
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable {
        case all, name, type, tree, negative, stale, source, soft
    }

    // MARK: - Making

    /// Creates the request for a scope.
    package init(_ scope: Scope, soft: Bool? = nil) {
        self.soft = soft
        switch scope {
        case .all: all = true
        case .name(let name, let type):
            self.name = name
            self.type = type
        case .tree(let name): tree = name
        case .negative: negative = true
        case .stale: stale = true
        case .source(let source): self.source = source
        }
    }

    // MARK: - Reading

    /// Returns the scope of the arguments; `false` counts as absent.
    ///
    /// - Throws: `invalidArgument` unless exactly one scope is given, or for a `type` without
    ///   `name`.
    package func scope() throws(MethodError) -> Scope {
        var scopes: [Scope] = []
        if all == true { scopes.append(.all) }
        if let name { scopes.append(.name(name, type: type)) }
        if let tree { scopes.append(.tree(tree)) }
        if negative == true { scopes.append(.negative) }
        if stale == true { scopes.append(.stale) }
        if let source { scopes.append(.source(source)) }
        guard let scope = scopes.first, scopes.count == 1 else {
            throw .invalidArgument(
                argument: "all, name, tree, negative, stale, source",
                reason: "exactly one is needed, \(scopes.count) are given"
            )
        }
        guard type == nil || name != nil else {
            throw .invalidArgument(argument: "type", reason: "requires a name")
        }
        return scope
    }
}

/// Reply to `Flush`.
package struct FlushReply: Codable, Sendable, Equatable {
    /// Number of removed entries.
    package var removed: Int

    /// Number of entries marked stale; nil unless `soft`.
    package var marked: Int?

    /// Creates the reply.
    package init(removed: Int, marked: Int? = nil) {
        self.removed = removed
        self.marked = marked
    }
}
