// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// Units that the vendors would bill for the calls of all clients, by name and family.
///
/// The rules are in ``Rate``. They are the vendors' published rules; no part of the daemon's own
/// count is used.
final class Bill: Sendable {
    private struct State {
        var units = 0
        /// Units by lower-case name, then by record type; a type without units has no entry.
        var names: [String: [Charge.Item.RecordType: Int]] = [:]
    }

    private let state = Lock(State())

    func add(_ items: [Charge.Item]) {
        state.withLock { state in
            for item in items {
                let isCounted =
                    state.names.count < Limits.countedNames || state.names[item.name] != nil
                state.units += item.units
                state.names[isCounted ? item.name : "(other)", default: [:]][
                    item.type,
                    default: 0
                ] += item.units
            }
        }
    }

    func reset() { state.withLock { $0 = State() } }

    /// Bill as printed by `GET /_emulator/bill`, with sorted names.
    var json: JSONText {
        let state = state.withLock { $0 }
        let names = state.names.sorted { $0.key < $1.key }.map { name, units in
            let types = Charge.Item.RecordType.allCases.compactMap { type in
                units[type].map { (type.rawValue, JSONText.number($0)) }
            }
            return (name, JSONText.object(types))
        }
        return ["units": .number(state.units), "names": .object(names)]
    }
}

/// Billing rule of a call: what the vendor counts, and the weight of the connection.
///
/// Read on 2026-11-23 from the vendors' pages; not confirmed by an invoice.
struct Rate: Sendable, Equatable {
    /// What the vendor counts.
    enum Unit: Sendable, Equatable {
        /// A name and family with an address; each of several client addresses counts.
        case answer
        /// A name with an address of any requested family.
        case name
        /// A request with status 200, also without addresses.
        case request
    }

    var unit: Unit
    /// Units over HTTP.
    var http: Int
    /// Units over HTTPS.
    var https: Int

    /// Alibaba EMAS, without AES encryption
    /// (<https://www.alibabacloud.com/help/en/httpdns/latest/billing>).
    static let alibaba = Rate(unit: .answer, http: 1, https: 5)

    /// Alibaba EMAS, with AES-CBC or AES-GCM encryption (same page).
    static let alibabaEncrypted = Rate(unit: .answer, http: 3, https: 8)

    /// Baidu: an HTTPS resolution counts as five
    /// (<https://cloud.baidu.com/product-price/httpdns.html>).
    ///
    /// The page does not say whether a name without addresses counts, or a name with both families
    /// twice. Here neither is the case.
    static let baidu = Rate(unit: .name, http: 1, https: 5)

    /// AliDNS: an HTTPS request counts as five
    /// (<https://www.alibabacloud.com/help/en/dns/pricing-overview>).
    static let alidns = Rate(unit: .request, http: 1, https: 5)

    /// Vendors without a known unit: Tencent, Volcengine, and DNS in JSON except AliDNS.
    static let request = Rate(unit: .request, http: 1, https: 1)
}

/// Billable part of a call: the rate, and the parameters on which the units depend.
struct Charge: Sendable {
    var rate: Rate
    /// Requested families, IPv4 first; empty for other record types of DNS in JSON.
    var families: [Family]
    /// Client addresses that the answers are for.
    var clients: [String]

    /// Units of a name and record type.
    struct Item: Sendable, Equatable {
        /// Record types in the bill.
        enum RecordType: String, CaseIterable, Sendable {
            case a, aaaa, other

            init(_ family: Family?) {
                self =
                    switch family {
                    case .v4: .a
                    case .v6: .aaaa
                    case nil: .other
                    }
            }
        }

        /// Lower-case name without the final dot.
        var name: String
        var type: RecordType
        var units: Int
    }

    /// Returns the units of a call with status 200.
    ///
    /// One unit for several families belongs to the first of them with an address, or to the first
    /// of them if none has an address. One unit for several names belongs to the first name.
    ///
    /// - Parameters:
    ///   - isRefused: true if a fault replaced the answer by an error of the vendor. An error has
    ///     no addresses, but it is a request.
    func items(
        for names: [String],
        in zone: Zone,
        isHTTPS: Bool,
        isRefused: Bool
    ) -> [Item] {
        let counted: [(name: String, family: Family?)] =
            switch rate.unit {
            case .answer where !isRefused:
                names.flatMap { name in
                    clients.flatMap { client in
                        answered(name, [client], zone).map { (name, $0) }
                    }
                }
            case .name where !isRefused:
                names.compactMap { name in
                    answered(name, clients, zone).first.map { (name, $0) }
                }
            case .answer, .name: []
            case .request:
                names.prefix(1).map { name in
                    (name, answered(name, clients, zone).first ?? families.first)
                }
            }
        return counted.map { name, family in
            Item(name: name, type: .init(family), units: isHTTPS ? rate.https : rate.http)
        }
    }

    /// Returns the requested families in which the name has an address for one of the clients.
    private func answered(_ name: String, _ clients: [String], _ zone: Zone) -> [Family] {
        families.filter { family in
            clients.contains { !zone.answer(name, family, for: Address($0)).addresses.isEmpty }
        }
    }
}

extension Request {
    /// True if the nearest proxy received the request over HTTPS.
    ///
    /// The emulator has no TLS, so only the proxy knows. As with `client`, the last value counts.
    var isHTTPS: Bool {
        let scheme = headers["x-forwarded-proto"]?.split(separator: ",").last
        return scheme?.trimmingCharacters(in: .whitespaces).lowercased() == "https"
    }
}
