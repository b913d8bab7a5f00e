// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Flush`: one scope, and optionally `soft` and `fleet`.
package struct FlushRequest: CallParameters, Equatable {
    package var all: Bool?
    package var name: String?

    package var type: String?

    package var tree: String?
    package var negative: Bool?
    package var stale: Bool?

    package var source: String?

    package var soft: Bool?

    package var fleet: Bool?

    /// Selection of the entries that are removed or marked stale.
    package enum Scope: Sendable, Hashable {
        case all
        case name(String, type: String?)
        case tree(String)
        case negative
        case stale
        case source(String)
    }

    package enum CodingKeys: CodingKey, CaseIterable {
        case all, name, type, tree, negative, stale, source, soft, fleet
    }

    // MARK: - Making

    package init(_ scope: Scope, soft: Bool? = nil, fleet: Bool? = nil) {
        self.soft = soft
        self.fleet = fleet
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

    /// Returns the scope; an argument `false` counts as absent.
    ///
    /// - Throws: `invalidArgument` for an invalid combination of arguments.
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
        guard fleet != true || scope.isOfFleet else {
            throw .invalidArgument(
                argument: "fleet",
                reason: "requires `all`, `tree`, or `name` without `type`"
            )
        }
        return scope
    }
}

extension FlushRequest.Scope {
    fileprivate var isOfFleet: Bool {
        switch self {
        case .all, .tree, .name(_, type: nil): true
        case .name, .negative, .stale, .source: false
        }
    }
}

package struct FlushReply: Codable, Sendable, Equatable {
    package var removed: Int

    package var marked: Int?

    package init(removed: Int, marked: Int? = nil) {
        self.removed = removed
        self.marked = marked
    }
}
