// SPDX-License-Identifier: Apache-2.0
internal import Control

/// What is done to answers on their way to clients.
package struct AnswerSettings: Sendable, Equatable {
    /// What becomes of HTTPS and SVCB records of names that vendors answer.
    package var httpsRecords = HTTPSRecords.align

    /// What becomes of IPv6 addresses.
    package var aaaa = AAAA.keep

    /// In which order the addresses of a name come.
    package var order = Order.asReceived

    /// Whose servers are tried, and where, to find out which is the fastest.
    package var probe: [Probe] = []

    package enum Order: String, Sendable, Hashable, CaseIterable {
        case asReceived = "as-received"
        case rotate, fastest
    }

    /// Names whose servers are tried, and at which port.
    package struct Probe: Sendable, Equatable {
        package var domain: DomainPattern
        package var port: UInt16

        package init(domain: DomainPattern, port: UInt16) {
            self.domain = domain
            self.port = port
        }
    }

    package enum HTTPSRecords: String, Sendable, Hashable, CaseIterable {
        case align, forward, block
    }

    package enum AAAA: String, Sendable, Hashable, CaseIterable {
        case keep, suppress
    }

    package init() {}
}

/// What is done against public names with private addresses.
package struct RebindingSettings: Sendable, Equatable {
    /// Whether anything is.
    package var protect = false

    /// Names that may have private addresses.
    package var except: [DomainPattern] = []

    package init() {}
}

// MARK: - Tables

extension AnswerSettings {
    static let table = SettingsTable<AnswerSettings>(
        .option(
            "https-records",
            \.httpsRecords,
            .choice(),
            """
            What becomes of HTTPS and SVCB records of names that a vendor answers. They come from \
            the upstreams, with addresses in them that lead clients past the vendor. `align` puts in \
            the vendor's addresses, if the cache has them, or none, and denies the records to \
            clients that ask for DNSSEC; `forward` passes them on as they are; `block` denies them.
            """
        ),
        .option(
            "aaaa",
            \.aaaa,
            .choice(),
            """
            What becomes of IPv6 addresses: `suppress`, for networks where IPv6 leads nowhere, \
            answers at once that no name has any. Names in `hosts` keep theirs.
            """
        ),
        .option(
            "order",
            \.order,
            .choice(),
            """
            In which order the addresses of a name come: `as-received`; `rotate`, each answer from \
            the cache beginning with another one; or `fastest`, with the one first that is fastest \
            to connect to. That is found out in the background by TCP connections that send nothing, \
            to each server once in five minutes. No address is ever left out.
            """
        ),
        .option(
            "probe",
            \.probe,
            .probes,
            """
            Whose servers are tried for `order: fastest`, and at which port, as in \
            [{domain: example.com, port: 8443}] with the forms of `domains` in a route; the first \
            that fits a name counts. [] means all names that a route sends to vendors, at port 443.
            """
        )
    )
}

extension SettingsKind where Value == [AnswerSettings.Probe] {
    /// Domains with the port at which their servers are tried.
    static var probes: SettingsKind {
        .list("{domain, port}", of: .probe, count: SettingsLimits.probes)
    }
}

extension SettingsKind where Value == AnswerSettings.Probe {
    /// A domain with the port at which its servers are tried.
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
        .option(
            "protect",
            \.protect,
            .boolean,
            """
            Whether private, loopback and other addresses that are not of the Internet (RFC 6890) \
            are taken out of the upstreams' answers. Names of \
            routes with `upstreams` or with `private-answers: allow` keep them. Block lists that \
            answer with such addresses, as mail servers use them, need an exception.
            """
        ),
        .option(
            "except",
            \.except,
            .list("domains", of: .domain, count: SettingsLimits.rebindingExceptions),
            """
            Names that may have private addresses, in the forms of `domains` in a route.
            """
        )
    )
}
