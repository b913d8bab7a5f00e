// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

extension Settings {
    func checkUpstreams(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.upstreams))
        var seen: [String: YAMLPlace] = [:]
        for (index, upstream) in upstreams.enumerated() {
            let path = "upstreams[\(index)]"
            if let first = seen[upstream.name], !upstream.name.isEmpty {
                let place = reading.place(of: "\(path).name")
                reading.report(
                    place,
                    "duplicate upstream name `\(upstream.name)`",
                    hint: "the first one is " + reading.pointer(to: first, from: place)
                )
            }
            seen[upstream.name] = seen[upstream.name] ?? reading.place(of: path)
            checkSource(of: upstream, path, &reading)
            if upstream.from == nil, reading.has("\(path).url"), !reading.isDamaged("\(path).url") {
                checkAddresses(of: upstream, path, &reading)
                checkProtection(of: upstream, path, &reading)
            }
            if upstream.only, !upstream.name.isEmpty, !named.contains(upstream.name) {
                reading.warn(
                    reading.place(of: path),
                    "the upstream `\(upstream.name)` is unused: `only` is set, but no route "
                        + "names the upstream"
                )
            }
        }
        checkOrder(&reading)
        for (index, route) in routes.enumerated() where route.fallback == .none {
            let learned = route.upstreams.first { name in
                upstreams.contains { $0.name == name && $0.from != nil }
            }
            guard let learned else { continue }
            reading.report(
                reading.place(of: "routes[\(index)].upstreams"),
                "a route with `fallback: none` cannot use `\(learned)`: this upstream gets its"
                    + " servers from the network or a file (`from`)",
                hint: "use an upstream with `url`"
            )
        }
    }

    private func checkSource(
        of upstream: UpstreamSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard let source = upstream.from else {
            guard !reading.has("\(path).url"), !reading.has("\(path).from"),
                !reading.isDamaged(path), !reading.isDamaged("\(path).url"),
                !reading.isDamaged("\(path).from")
            else { return }
            return reading.report(
                reading.place(of: path),
                "`upstreams.url` is missing",
                hint:
                    "set `url`; or set `from` to `network` or to the path of a resolv.conf file"
            )
        }
        for option in ["url", "addresses", "ca-file", "validates"]
        where reading.has("\(path).\(option)") {
            reading.report(
                reading.place(of: "\(path).\(option)"),
                "`\(option)` is not allowed with `from`: "
                    + (source == .network
                        ? "the network names the servers" : "\(source) names the servers"),
                hint: "remove `\(option)` or `from`"
            )
        }
        if case .file(let file) = source {
            checkResolverFile(file, of: upstream, "\(path).from", &reading)
        }
        let first = upstreams.firstIndex { $0.from == source }
        if source == .network, let first, "upstreams[\(first)]" != path {
            reading.report(
                reading.place(of: "\(path).from"),
                "only one upstream can have `from: network`",
                hint: "`\(upstreams[first].name)` already has `from: network`"
            )
        }
    }

    /// Only warns, because another program, such as a VPN client, may write the file later.
    private func checkResolverFile(
        _ file: String,
        of upstream: UpstreamSettings,
        _ key: String,
        _ reading: inout SettingsReading
    ) {
        let place = reading.place(of: key)
        guard let fault = reading.environment.resolverFault(file) else {
            return reading.warnIfOnlyForRoot(file, at: place)
        }
        reading.warn(
            place,
            "\(fault): queries to the upstream `\(upstream.name)` fail until the file names a DNS"
                + " server other than this machine",
            hint: "write `nameserver ADDRESS` to the file, or wait until another program does so"
        )
    }

    /// Warns if a plain upstream is listed before an encrypted upstream, but is queried after it.
    private func checkOrder(_ reading: inout SettingsReading) {
        let standard = upstreams.enumerated().filter { !$0.element.only && $0.element.from == nil }
        guard let plain = standard.first(where: { $0.element.url.isUnprotected }),
            let encrypted = standard.last(where: { !$0.element.url.isUnprotected }),
            plain.offset < encrypted.offset
        else { return }
        reading.warn(
            reading.place(of: "upstreams[\(plain.offset)]"),
            "`\(plain.element.name)`, which is plain DNS, is listed before the encrypted upstream"
                + " `\(encrypted.element.name)`, but is queried after it",
            hint: "list encrypted upstreams first"
        )
    }

    private func checkAddresses(
        of upstream: UpstreamSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let list = "\(path).addresses"
        if upstream.url.isUnprotected, !upstream.addresses.isEmpty {
            reading.report(
                reading.place(of: list),
                "`addresses` is not allowed with `\(upstream.url)`, which contains the address",
                hint: "add an upstream for each address"
            )
            return
        }
        guard !upstream.servers.isEmpty else {
            guard !reading.isDamaged(list) else { return }
            reading.report(
                reading.place(of: "\(path).url"),
                "`\(upstream.url)` needs `addresses`: httpdnsd does not resolve its host",
                hint: "add its IP addresses, such as addresses: [192.0.2.53]"
            )
            return
        }
        for (index, server) in upstream.servers.enumerated() {
            let isInURL = upstream.addresses.isEmpty
            let place = reading.place(of: isInURL ? "\(path).url" : "\(list)[\(index)]")
            reading.warnIfNoInterface(of: server, place)
            guard let listener = listener(receiving: server, reading.environment) else { continue }
            reading.report(
                place,
                "`\(isInURL ? "\(upstream.url)" : "\(server)")` is httpdnsd itself, which listens"
                    + " on `\(listener)`",
                hint: "queries would loop: use another resolver"
            )
        }
    }

    private func checkProtection(
        of upstream: UpstreamSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        if upstream.validates, upstream.url.isUnprotected,
            !upstream.servers.allSatisfy(\.ip.isLoopback)
        {
            reading.report(
                reading.place(of: "\(path).validates"),
                "`validates` requires an encrypted upstream: with plain DNS (`\(upstream.url)`),"
                    + " the AD flag can be forged",
                hint: "use tls:// or https://, or a validating resolver on this machine"
            )
        }
        guard upstream.url.isUnprotected, reading.has("\(path).ca-file") else { return }
        reading.report(
            reading.place(of: "\(path).ca-file"),
            "`ca-file` requires an encrypted upstream, and `\(upstream.url)` is plain DNS",
            hint: "use tls:// or https://"
        )
    }

    private func listener(
        receiving other: SocketAddress,
        _ environment: SettingsEnvironment
    ) -> SocketAddress? {
        let passed = environment.serviceUnits()?.passedAddresses ?? []
        return Self.listener(of: listen + passed, receiving: other, environment.isLocal)
    }

    /// Describes the first upstream server whose queries would return to this daemon through a
    /// socket that systemd passed; nil for none.
    package func loop(through passed: [SocketAddress]) -> String? {
        for upstream in upstreams {
            for server in upstream.servers {
                let found = Self.listener(of: passed, receiving: server) { $0.isLocal }
                guard let found else { continue }
                return "upstream \(upstream.name): `\(server)` is httpdnsd itself, which serves "
                    + "`\(found)` from its socket unit; queries would loop: use another resolver"
            }
        }
        return nil
    }

    private static func listener(
        of addresses: [SocketAddress],
        receiving other: SocketAddress,
        _ isLocal: (SocketAddress) -> Bool
    ) -> SocketAddress? {
        addresses.first { address in
            guard address.port == other.port, address.port != 0 else { return false }
            let target = other.ip.unmapped
            if address.ip == target { return true }
            // Listening on `[::]` does not include IPv4 (IPV6_V6ONLY).
            let isIPv6 = other.isIPv6 && target == other.ip
            guard address.ip.isUnspecified, address.isIPv6 == isIPv6 else { return false }
            return target.isLoopback || isLocal(other)
        }
    }
}
