// SPDX-License-Identifier: Apache-2.0
package import Net

/// Where the counters are served to Prometheus.
package struct MetricsSettings: Sendable, Equatable {
    /// The places; none for not at all.
    package var listen: [MetricsPlace] = []

    /// The permission bits of those that are Unix sockets.
    package var mode = 0o660

    /// The group that owns these.
    package var group = "httpdns"

    package init() {}
}

/// Something that metrics are served on.
package enum MetricsPlace: Sendable, Hashable, CustomStringConvertible {
    /// TCP.
    case address(SocketAddress)

    /// A Unix socket.
    case path(String)

    /// The port of an address that is written without one; 0 for no port in particular.
    static let standardPort: UInt16 = 9353

    /// Whether the system chooses where it is, so that there can be two that look the same.
    var isAnyPort: Bool {
        if case .address(let address) = self { address.port == 0 } else { false }
    }

    /// As the settings write it.
    package var description: String {
        switch self {
        case .address(let address): "\(address)"
        case .path(let path): path
        }
    }
}

// MARK: - Table

extension MetricsSettings {
    static let table = SettingsTable<MetricsSettings>(
        .option(
            "listen",
            \.listen,
            .oneOrMore(
                "IP:PORT, an absolute path, or a list of these",
                .list("places", of: .metricsPlace, count: SettingsLimits.scrapePoints)
            ),
            """
            Where `/metrics` is served over HTTP, in the text forms of Prometheus and OpenMetrics: an \
            address, the path of a Unix socket, or a list of these. Who can connect can read the \
            counters; names and clients are not among them.
            """
        ),
        .option(
            "mode",
            \.mode,
            .mode,
            """
            The permissions of those places that are Unix sockets. Who can write to one can read the \
            counters.
            """
        ),
        .option(
            "group",
            \.group,
            .group,
            """
            The group that owns these sockets. If the system has no such group, they stay root's.
            """
        )
    )
}

extension SettingsKind where Value == MetricsPlace {
    /// An IP literal with a port, or a path.
    static var metricsPlace: SettingsKind {
        let octets = SettingsLimits.socketPathOctets
        return .scalar(
            "IP:PORT (port \(MetricsPlace.standardPort) if left out) or an absolute path of up to"
                + " \(octets) octets",
            read: { text throws(Mismatch) in
                guard text.hasPrefix("/") else {
                    return .address(
                        try .literal(text, defaultPort: MetricsPlace.standardPort)
                    )
                }
                guard text.utf8.count <= octets else { throw Mismatch() }
                return .path(text)
            },
            write: { .text("\($0)") }
        )
    }
}

extension SettingsKind {
    /// A list, of which a single value may be written without brackets.
    ///
    /// - Parameter expected: what it may be, in words.
    static func oneOrMore<Item>(
        _ expected: String,
        _ list: SettingsKind
    ) -> SettingsKind where Value == [Item] {
        SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard node.scalar != nil, !node.isNull else {
                    return list.read(node, key, &reading)
                }
                var whole = node
                whole.content = .sequence([node])
                return list.read(whole, key, &reading)
            },
            write: { values in
                let whole = list.write(values)
                guard case .sequence(let items) = whole.content, items.count == 1 else {
                    return whole
                }
                return items[0]
            },
            schema: SettingsSchema.either(list.schema, SettingsSchema.string())
        )
    }
}
