// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// A resolver that names without a vendor, or without a vendor's answer, are forwarded to.
package struct UpstreamSettings: Sendable, Equatable {
    /// What routes, logs and counters call it.
    package var name: String

    /// Where it stands in the file.
    package var place: SettingsPlace

    /// How it is spoken to, and as whom.
    package var url = UpstreamURL(literal: "udp://127.0.0.53")

    /// Where it is, as written: without a port (0) it is the URL's.
    package var addresses: [SocketAddress] = []

    /// PEM file of the certificates to trust instead of the system's.
    package var caFile: String?

    /// Whether only routes that name it use it.
    package var only = false

    /// Whether its word is passed on that it validated an answer.
    package var validates = false

    /// How long one of its answers is waited for.
    package var timeout = Duration.seconds(2)

    package init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }

    /// Makes an upstream that no file describes.
    package init(name: String, url: UpstreamURL, addresses: [String] = []) {
        self.init(name: name, place: SettingsPlace())
        self.url = url
        self.addresses = addresses.compactMap { SocketAddress($0, defaultPort: 0) }
    }

    /// The servers, with their ports; at least one in settings that were checked.
    package var servers: [SocketAddress] {
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
            .name(of: "a name of your own"),
            required: true,
            example: "office",
            """
            What routes, logs and counters call it.
            """
        ),
        .option(
            "url",
            \.url,
            .upstreamURL,
            required: true,
            example: UpstreamURL(literal: "https://dns.example/dns-query"),
            """
            How it is spoken to, and as whom. `https://HOST/PATH` is DNS over HTTPS and \
            `tls://HOST` DNS over TLS: encrypted, and only with a server that has a certificate \
            for the host. `udp://IP` is plain DNS, over UDP, and over TCP when an answer is \
            truncated; `tcp://IP` is plain DNS over TCP only. Anybody on the way can read and \
            forge plain DNS, so its answers are counted and labelled as unprotected, and it is \
            asked only while the protected upstreams before it are out of service.
            """
        ),
        .option(
            "addresses",
            \.addresses,
            .list(
                "IP addresses, each with a port if it is not the URL's",
                of: .server,
                count: SettingsLimits.upstreamAddresses
            ),
            standard: "the URL's host, if that is an IP address",
            example: ["192.0.2.53", "2001:db8::53"].compactMap {
                SocketAddress($0, defaultPort: 0)
            },
            """
            Where it is. The host of a URL is never looked up, as httpdnsd is the resolver that \
            would be asked.
            """
        ),
        .option(
            "ca-file",
            \.caFile,
            .certificates,
            example: "/etc/httpdnsd/ca.pem",
            """
            PEM file of the certificates to trust instead of the system's.
            """
        ),
        .option(
            "only",
            \.only,
            .boolean,
            example: true,
            """
            Whether it serves only the routes that name it. The others serve every name that no \
            route sends elsewhere.
            """
        ),
        .option(
            "validates",
            \.validates,
            .boolean,
            example: true,
            """
            Whether it validates DNSSEC and is believed. Then a client that says in its query that \
            it knows what AD means gets AD with what it validated: programs such as ssh and postfix \
            trust keys in the DNS on that word alone. So it is for an upstream that you trust, over \
            https:// or tls://, or plain on this machine. Answers of others, of vendors and of \
            `hosts`, stale ones and those that were altered never have AD: in a group where only \
            some validate, the same name may have it now and not then. TTLs of what was validated \
            are not raised to `minimum-ttl` and `negative-ttl`.
            """
        ),
        .option(
            "timeout",
            \.timeout,
            .duration(SettingsLimits.timeout),
            """
            How long one of its answers is waited for at most. The next upstream is asked sooner, \
            when an answer takes longer than is usual.
            """
        )
    )
}
