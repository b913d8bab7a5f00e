// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

extension Settings {
    /// Upstreams have names of their own, can be reached, and none of them is this daemon.
    func checkUpstreams(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.upstreams))
        var seen: [String: YAMLPlace] = [:]
        for (index, upstream) in upstreams.enumerated() {
            let path = "upstreams[\(index)]"
            if let first = seen[upstream.name], !upstream.name.isEmpty {
                let place = reading.place(of: "\(path).name")
                reading.report(
                    place,
                    "a second upstream is called `\(upstream.name)`",
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
                    "no route names the upstream `\(upstream.name)`, which serves only those that do"
                )
            }
        }
    }

    /// It is somewhere, and not here.
    private func checkAddresses(
        of upstream: UpstreamSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let list = "\(path).addresses"
        if upstream.url.isUnprotected, !upstream.addresses.isEmpty {
            reading.report(
                reading.place(of: list),
                "the address of `\(upstream.url)` is in its URL",
                hint: "make an upstream of each address"
            )
            return
        }
        guard !upstream.servers.isEmpty else {
            guard !reading.isDamaged(list) else { return }
            reading.report(
                reading.place(of: "\(path).url"),
                "`\(upstream.url)` needs `addresses`, as httpdnsd cannot look up its host",
                hint: "for example addresses: [192.0.2.53]"
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
                hint: "questions would go round in circles: name another resolver"
            )
        }
    }

    /// What is said of certificates is about an upstream that has one, and who is believed to validate
    /// is spoken to in a way that nobody can change what it says.
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
                "`\(upstream.url)` is plain DNS: on the way here anybody could say that an answer"
                    + " was validated",
                hint: "say tls:// or https://, or run a validating resolver on this machine"
            )
        }
        guard upstream.url.isUnprotected, reading.has("\(path).ca-file") else { return }
        reading.report(
            reading.place(of: "\(path).ca-file"),
            "`\(upstream.url)` is plain DNS, which has no certificates",
            hint: "say tls:// or https://"
        )
    }

    /// The address listened on that gets what is sent to `other`.
    private func listener(
        receiving other: SocketAddress,
        _ environment: SettingsEnvironment
    ) -> SocketAddress? {
        listen.first { address in
            guard address.port == other.port, address.port != 0 else { return false }
            if address.octets == other.octets { return true }
            // [::] does not listen on IPv4: the sockets are for one family each.
            guard address.ip.isUnspecified, address.isIPv6 == other.isIPv6 else { return false }
            return other.ip.isLoopback || environment.isLocal(other)
        }
    }
}
