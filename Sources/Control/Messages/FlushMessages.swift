// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Flush`: exactly one of `all`, `name`, `tree`, `negative`, `stale` and `source`;
/// and `soft`.
package struct FlushRequest: CallParameters, Equatable {
    /// True: everything.
    package var all: Bool?

    /// Entries of exactly this name, in presentation form.
    package var name: String?

    /// With `name`: only entries of this type, as a mnemonic or `TYPE65`.
    package var type: String?

    /// Entries of this name and of all names below it.
    package var tree: String?

    /// True: entries that say that something does not exist, or that asking failed.
    package var negative: Bool?

    /// True: entries whose time is over.
    package var stale: Bool?

    /// Entries that came from this vendor or upstream, by its name in the settings; or from any
    /// `vendor`, or any `upstream`.
    package var source: String?

    /// True: entries are not removed but marked stale, so that they are asked for anew, and given
    /// if nobody answers.
    package var soft: Bool?

    /// What to remove, once the arguments agree with each other.
    package enum Scope: Sendable, Hashable {
        /// Everything.
        case all

        /// One name, and if `type` is given only that type of it.
        case name(String, type: String?)

        /// A name and all below it.
        case tree(String)

        /// Entries without records.
        case negative

        /// Entries whose time is over.
        case stale

        /// Entries that came from somewhere.
        case source(String)
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable {
        case all, name, type, tree, negative, stale, source, soft
    }

    // MARK: - Making

    /// Makes the request for a scope.
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

    /// The scope the arguments mean; `false` counts as not given.
    ///
    /// - Throws: `invalidArgument` if not exactly one is given, or `type` without `name`.
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
            throw .invalidArgument(argument: "type", reason: "needs a name")
        }
        return scope
    }
}

/// The reply to `Flush`.
package struct FlushReply: Codable, Sendable, Equatable {
    /// How many entries were removed.
    package var removed: Int

    /// How many were marked stale, if that was asked for.
    package var marked: Int?

    /// Makes the reply.
    package init(removed: Int, marked: Int? = nil) {
        self.removed = removed
        self.marked = marked
    }
}
