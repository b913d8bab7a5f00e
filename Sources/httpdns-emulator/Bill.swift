// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// Units that the vendors would bill for the calls.
final class Bill: Sendable {
    private struct State {
        var units = 0
        var names: [String: [Charge.Item.RecordType: Int]] = [:]
        /// Two counts of Alibaba answers with an address: over HTTP, and over HTTPS.
        var alibaba = (http: 0, https: 0)
    }

    private let state = Lock(State())
    var alibabaResolutions: (http: Int, https: Int) { state.withLock(\.alibaba) }

    func add(_ items: [Charge.Item], rate: Rate, isHTTPS: Bool) {
        state.withLock { state in
            if rate.unit == .answer {
                if isHTTPS {
                    state.alibaba.https += items.count
                } else {
                    state.alibaba.http += items.count
                }
            }
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

/// Billing rule of a vendor.
///
/// Source: price pages of the vendors on 2026-11-23; not confirmed by an invoice.
struct Rate: Sendable, Equatable {
    enum Unit: Sendable, Equatable {
        /// For each name and client address, bills each address family that has an address.
        case answer
        /// Bills each name with an address in a requested family.
        case name
        /// Bills each request with status 200, even without addresses.
        case request
    }

    var unit: Unit
    var http: Int
    var https: Int

    /// Rule of Alibaba without AES (<https://www.alibabacloud.com/help/en/httpdns/latest/billing>).
    static let alibaba = Rate(unit: .answer, http: 1, https: 5)

    static let alibabaEncrypted = Rate(unit: .answer, http: 3, https: 8)

    /// Rule of Baidu (<https://cloud.baidu.com/product-price/httpdns.html>).
    ///
    /// Assumed: a name without addresses is free, and a name with both address families counts once.
    static let baidu = Rate(unit: .name, http: 1, https: 5)

    /// Rule of AliDNS (<https://www.alibabacloud.com/help/en/dns/pricing-overview>).
    static let alidns = Rate(unit: .request, http: 1, https: 5)

    /// Rule for services with unknown billing, and for free services: Tencent, Volcengine and DNS
    /// in JSON.
    static let request = Rate(unit: .request, http: 1, https: 1)
}

struct Charge: Sendable {
    var rate: Rate
    /// Queried address families, IPv4 first; empty if the record type is neither A nor AAAA.
    var families: [Family]
    var clients: [String]

    struct Item: Sendable, Equatable {
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

        var name: String
        var type: RecordType
        var units: Int
    }

    /// Returns the billed items of a reply with status 200.
    /// - An item for one address family has the record type of this family.
    /// - An item for a name has the record type of the first family with an address.
    /// - An item for a request has the first name, and the record type of the first family in which
    ///   this name has an address. If the name has no address, the item has the record type of the
    ///   first queried family.
    func items(for names: [String], in zone: Zone, isHTTPS: Bool, isRefused: Bool) -> [Item] {
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

    private func answered(_ name: String, _ clients: [String], _ zone: Zone) -> [Family] {
        families.filter { family in
            clients.contains { !zone.answer(name, family, for: Address($0)).addresses.isEmpty }
        }
    }
}

extension Request {
    var isHTTPS: Bool {
        let scheme = headers["x-forwarded-proto"]?.split(separator: ",").last
        return scheme?.trimmingCharacters(in: .whitespaces).lowercased() == "https"
    }
}
