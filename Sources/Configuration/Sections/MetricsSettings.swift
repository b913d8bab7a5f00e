// SPDX-License-Identifier: Apache-2.0
package import Net

package struct MetricsSettings: Sendable, Equatable {
    package var listen: [MetricsPlace] = []
    package var mode = 0o660
    package var group = "httpdns"
}

/// Listen address or socket path of the metrics server.
package enum MetricsPlace: Sendable, Hashable, CustomStringConvertible {
    case address(SocketAddress)
    case path(String)
    static let standardPort: UInt16 = 9353

    /// An address with port 0 does not overlap, because the kernel selects a free port.
    func overlaps(_ other: MetricsPlace) -> Bool {
        guard case (.address(let address), .address(let second)) = (self, other) else {
            return self == other
        }
        return address.port != 0 && address.overlaps(second)
    }

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
                .list("addresses or paths", of: .metricsPlace, count: SettingsLimits.scrapePoints)
            )
        ) {
            """
            Addresses that serve `/metrics` over HTTP for Prometheus: an IP address with an \
            optional port, the path of a Unix socket, or a list of these. [] serves no metrics. \
            Every client that can connect can read the counters, which contain no query names and \
            no client addresses. The labels of the counters contain the URLs of the upstreams. If \
            the path of a URL is an access token, use only a Unix socket, and do not let all users \
            open this socket (`mode`).
            """
        },
        .option("mode", \.mode, .mode) {
            """
            Permissions of the Unix sockets. A scraper needs write permission. A change requires a \
            restart.
            """
        },
        .option("group", \.group, .group) {
            """
            Group that owns the Unix sockets; see `group` in `control`. A change requires a \
            restart.
            """
        }
    )
}

extension SettingsKind where Value == MetricsPlace {
    static var metricsPlace: SettingsKind {
        let octets = SettingsLimits.socketPathOctets
        return .scalar(
            "IP:PORT (port \(MetricsPlace.standardPort) if left out) or an absolute path of up to"
                + " \(octets) octets",
            read: { text throws(Mismatch) in
                guard text.hasPrefix("/") else {
                    return .address(try .listener(text, defaultPort: MetricsPlace.standardPort))
                }
                guard text.utf8.count <= octets else { throw Mismatch() }
                return .path(text)
            }
        )
    }
}

extension SettingsKind {
    /// Value type for a list in which a single item needs no brackets.
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
