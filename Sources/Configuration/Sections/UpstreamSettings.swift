// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// Resolver for queries that no vendor answers.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    package var url = UpstreamURL(literal: "udp://127.0.0.53")

    package var from: UpstreamSource?

    /// Port 0 means the port of `url`.
    package var addresses: [SocketAddress] = []

    package var caFile: String?

    package var only = false

    /// True if the AD flag of replies is passed to DNS clients.
    package var validates = false

    package var timeout = Duration.seconds(2)

    init(name: String, place _: SettingsPlace) { self.name = name }

    package init(name: String, url: UpstreamURL, addresses: [String] = []) {
        self.name = name
        self.url = url
        self.addresses = addresses.compactMap { SocketAddress($0, defaultPort: 0) }
    }

    private var hasInvalidURL = false

    fileprivate var ownURL: UpstreamURL? {
        get { from == nil && !hasInvalidURL ? url : nil }
        set {
            url = newValue ?? url
            hasInvalidURL = newValue == nil
        }
    }

    /// Addresses with ports; after the check of the settings, empty only if `from` is set.
    package var servers: [SocketAddress] {
        guard from == nil else { return [] }
        guard !addresses.isEmpty else { return [url.address].compactMap(\.self) }
        return addresses.map { address in
            var address = address
            if address.port == 0 { address.port = url.port }
            return address
        }
    }
}

// MARK: - Table

extension UpstreamSettings: SettingsEntry {
    static let table = SettingsTable<UpstreamSettings>(
        .option(
            "name",
            \.name,
            .name(of: "a name that you choose"),
            required: true,
            example: "office"
        ) {
            "Name of the upstream in routes, logs and counters."
        },
        .option(
            "url",
            \.ownURL,
            .upstreamURL,
            standard: "none: required unless `from` is set",
            alternative: "from",
            example: UpstreamURL(literal: "https://dns.example/dns-query")
        ) {
            """
            Protocol and server. `https://HOST/PATH` is DNS over HTTPS and `tls://HOST` is DNS \
            over TLS: both are encrypted, and the server must have a certificate for HOST. \
            `udp://IP` is plain DNS over UDP, and over TCP if an answer is truncated. `tcp://IP` \
            is plain DNS over TCP only. The host may have a `:PORT`. An attacker on the network \
            path can read and forge plain DNS, so the daemon labels answers of plain DNS as \
            unprotected. A plain upstream is queried only while all encrypted upstreams are down, \
            independent of the order. The log, `status` and the metrics contain the whole URL, so \
            a PATH that is an access token is visible to all users who may read the log, `status` \
            or the metrics.
            """
        },
        .option("from", \.from, .upstreamSource, example: .network) {
            """
            Source of the servers, instead of `url`. `network`: the DNS servers of the networks \
            that this machine is connected to, from systemd-resolved, NetworkManager, resolvconf, \
            dhcpcd, or /etc/resolv.conf (or its copy, saved by `httpdnsctl setup`). If `from` is a \
            path, the servers are those in this file (format of resolv.conf(5)). Changes take \
            effect without a reload. The daemon queries the servers of `from` after all other \
            upstreams, and never for a route with `fallback: none`: such a route uses only \
            configured servers. Routing domains of a link (`~corp.example`) and search domains of \
            a VPN become routes to the servers of the link. If a route in the settings also \
            matches a name, this route has precedence in two cases: its domain is at least as \
            specific as the domain of the link, or the route has `fallback: none`. For 5 s after \
            the link goes down, the daemon queries no server for names in the domains of the link.
            """
        },
        .option(
            "addresses",
            \.addresses,
            .list(
                "IP addresses, each with an optional port",
                of: .server,
                count: SettingsLimits.upstreamAddresses
            ),
            standard: "the host of `url`, if it is an IP address",
            example: ["192.0.2.53", "2001:db8::53"].compactMap { SocketAddress($0, defaultPort: 0) }
        ) {
            """
            IP addresses of the server; the default port is the port of `url`. Required for https \
            and tls unless HOST is an IP address: HOST is not resolved.
            """
        },
        .option("ca-file", \.caFile, .certificates, example: "/etc/httpdnsd/ca.pem") {
            "PEM file of trusted CA certificates, instead of the system's."
        },
        .option("only", \.only, .boolean, example: true) {
            "Uses the upstream only for routes that name the upstream."
        },
        .option("validates", \.validates, .boolean, example: true) {
            """
            Passes on the AD flag of the upstream to clients that set AD or DO in their query. AD \
            means that the upstream has validated the answer. Programs such as ssh and postfix \
            trust keys in the DNS only because AD is set. Enable this option only for an upstream \
            that you trust, over https:// or tls://, or over plain DNS on this machine. Stale \
            answers and modified answers never have AD. TTLs of validated answers are not raised \
            to `minimum-ttl` or `negative-ttl`.
            """
        },
        .option("timeout", \.timeout, .duration(SettingsLimits.timeout)) {
            """
            Time limit for one answer. If an answer is slower than usual, the next upstream is \
            queried before the end of this time.
            """
        }
    )
}
