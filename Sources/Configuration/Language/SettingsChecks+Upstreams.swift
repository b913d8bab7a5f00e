// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

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
                    hint: "first " + reading.pointer(to: first, from: place)
                )
            }
            seen[upstream.name] = seen[upstream.name] ?? reading.place(of: path)
            if reading.has("\(path).url"), !reading.isDamaged("\(path).url") {
                checkAddresses(of: upstream, path, &reading)
                checkProtection(of: upstream, path, &reading)
            }
            if upstream.only, !upstream.name.isEmpty, !named.contains(upstream.name) {
                reading.warn(
                    reading.place(of: path),
                    "the upstream `\(upstream.name)` is unused: it has `only`, and no route names it"
                )
            }
        }
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
                hint: "such as addresses: [192.0.2.53]"
            )
            return
        }
        for (index, server) in upstream.servers.enumerated() {
            guard let listener = listener(receiving: server, reading.environment) else { continue }
            let isInURL = upstream.addresses.isEmpty
            reading.report(
                reading.place(of: isInURL ? "\(path).url" : "\(list)[\(index)]"),
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
                    + " AD can be forged",
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

    /// Returns the listen address that receives queries sent to `other`.
    private func listener(
        receiving other: SocketAddress,
        _ environment: SettingsEnvironment
    ) -> SocketAddress? {
        listen.first { address in
            guard address.port == other.port, address.port != 0 else { return false }
            if address.octets == other.octets { return true }
            // A socket on `[::]` receives no IPv4 packets.
            guard address.ip.isUnspecified, address.isIPv6 == other.isIPv6 else { return false }
            return other.ip.isLoopback || environment.isLocal(other)
        }
    }
}
