// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Key of a shared answer: an HMAC of the name, the families and the view.
///
/// The view is a text of all other facts: vendor kind, account, parameters, and exit (the network
/// from which the vendor sees the calls).
package struct FleetKey: Hashable, Sendable {
    let digest: [UInt8]
    static let octets = 16
    init(digest: [UInt8]) { self.digest = digest }

    init(_ name: Name, _ families: Families, view: String, _ seal: FleetSeal) {
        digest = seal.digest(
            .name,
            [name.lowercased.octets, [families.rawValue], Array(view.utf8)],
            octets: Self.octets
        )
    }

    /// In a Redis Cluster, keys with equal text in braces are on one node.
    var value: [UInt8] { key("v") }
    var lease: [UInt8] { key("l") }

    private func key(_ kind: String) -> [UInt8] {
        Array("\(FleetKeys.prefix){\(digest.hexadecimal)}:\(kind)".utf8)
    }
}

/// Names in Redis: the prefix of the keys, and the channel.
enum FleetKeys {
    static let prefix = "httpdnsd:"

    /// Channel of all hosts, including hosts with another secret.
    static let channel = "httpdnsd:messages"
}
