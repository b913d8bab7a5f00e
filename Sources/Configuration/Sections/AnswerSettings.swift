// SPDX-License-Identifier: Apache-2.0
internal import Control
package import DNSWire

package struct AnswerSettings: Sendable, Equatable {
    package var httpsRecords = HTTPSRecords.align
    package var a = Family.keep
    package var aaaa = Family.keep
    package var order = Order.asReceived

    /// If empty, the daemon measures the connect time to port 443, for the addresses of all names
    /// that have a route to vendors.
    package var probe: [Probe] = []

    package enum Order: String, Sendable, Hashable, CaseIterable {
        case asReceived = "as-received"
        case rotate, fastest
    }

    package struct Probe: Sendable, Equatable {
        package var domain: DomainPattern
        package var port: UInt16
    }

    package enum HTTPSRecords: String, Sendable, Hashable, CaseIterable {
        case align, forward, block
    }

    package enum Family: String, Sendable, Hashable, CaseIterable {
        case keep, suppress
    }
}

package struct RebindingSettings: Sendable, Equatable {
    package var protect = false
    package var except: [DomainPattern] = []
}

// MARK: - Tables

extension AnswerSettings {
    static let table = SettingsTable<AnswerSettings>(
        .option("https-records", \.httpsRecords, .choice()) {
            """
            HTTPS and SVCB records of names that a vendor answers. Upstreams answer queries for \
            these types, and clients could use the address hints in the records instead of the \
            vendor's addresses. `align` replaces the hints by the vendor's addresses from the \
            cache; if the cache has no address of the vendor, `align` removes the hints. With \
            `align`, a client that requests DNSSEC gets NODATA, because signed records cannot be \
            changed. `forward` changes nothing. `block` always answers NODATA.
            """
        },
        .option("a", \.a, .choice()) {
            """
            Answers to A queries. `suppress` answers A queries with NODATA. Use this value in \
            networks without IPv4, if no program needs an IPv4 address. Names in `hosts` keep \
            their IPv4 addresses. Cannot be combined with `aaaa: suppress`.
            """
        },
        .option("aaaa", \.aaaa, .choice()) {
            """
            Answers to AAAA queries. `suppress` answers AAAA queries with NODATA, for networks \
            without working IPv6. Names in `hosts` keep their IPv6 addresses.
            """
        },
        .option("order", \.order, .choice()) {
            """
            Order of the addresses in an answer. `rotate` starts each answer from the cache with \
            another address. `fastest` puts the address with the shortest TCP connect time first; \
            the connect time of an address is measured at most once in 5 minutes. Answers with \
            more than 64 records keep their order.
            """
        },
        .option("probe", \.probe, .probes) {
            """
            Names to which `order: fastest` applies, each with the TCP port to which the connect \
            time is measured (default 443), for example [{domain: example.com, port: 8443}]. Write \
            a domain as in `domains` of a route; if several entries cover a name, the first entry \
            applies. With [], `order: fastest` applies to all names of routes with vendors; the \
            port is 443.
            """
        }
    )
}

extension SettingsKind where Value == [AnswerSettings.Probe] {
    static var probes: SettingsKind {
        .list("{domain, port}", of: .probe, count: SettingsLimits.probes)
    }
}

extension SettingsKind where Value == AnswerSettings.Probe {
    fileprivate static var probe: SettingsKind {
        let expected = "{domain: DOMAIN, port: PORT}"
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard case .mapping(let pairs) = node.content else {
                    reading.reportMismatch(node, key, expected: expected)
                    return nil
                }
                var domain: DomainPattern?
                var port: Int? = 443
                for pair in pairs {
                    let option = key.option(pair.key.shortened)
                    switch pair.key {
                    case "domain":
                        domain = SettingsKind<DomainPattern>.domain.read(
                            pair.value,
                            option,
                            &reading
                        )
                        guard domain != nil else { return nil }
                    case "port":
                        port = SettingsKind<Int>.integer(SettingsLimits.port).read(
                            pair.value,
                            option,
                            &reading
                        )
                    default:
                        reading.report(
                            pair.keyPlace,
                            "unknown key `\(pair.key.shortened)` in `\(key.shown)`",
                            hint: DidYouMean.hint(for: pair.key, among: ["domain", "port"])
                        )
                        return nil
                    }
                }
                guard let domain else {
                    reading.report(node.place, "`\(key.shown).domain` is missing")
                    return nil
                }
                guard let port = port.flatMap(UInt16.init(exactly:)) else { return nil }
                return AnswerSettings.Probe(domain: domain, port: port)
            },
            write: { probe in
                .map([
                    ("domain", .text(probe.domain.description)), ("port", .word("\(probe.port)")),
                ])
            },
            schema: SettingsSchema.object(
                [
                    ("domain", SettingsKind<DomainPattern>.domain.schema),
                    ("port", SettingsKind<Int>.integer(SettingsLimits.port).schema),
                ],
                required: ["domain"]
            )
        )
    }
}

extension RebindingSettings {
    static let table = SettingsTable<RebindingSettings>(
        .option("protect", \.protect, .boolean) {
            """
            Removes private, loopback and other addresses that are not public (RFC 6890) from \
            answers of upstreams, except from answers for routes with `upstreams` or \
            `private-answers: allow`. Addresses for documentation, such as 192.0.2.0/24, are not \
            removed. DNS block lists (DNSBL), which mail servers query, answer \
            with loopback addresses: add the domains of these lists to `except`.
            """
        },
        .option(
            "except",
            \.except,
            .list("domains", of: .domain, count: SettingsLimits.rebindingExceptions)
        ) { "Names that may resolve to private addresses; write them as in `domains` of a route." }
    )
}
