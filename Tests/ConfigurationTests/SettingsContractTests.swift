// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("The settings reference file")
struct SettingsContractTests {
    private static let contract = """
        listen: ["127.0.0.1:53", "[::1]:53"]        # UDP and TCP on each
        allow: ["127.0.0.0/8", "::1/128"]           # clients with access; others get REFUSED
        workers: auto

        vendors:                                    # names are yours
          tencent:
            kind: tencent
            channel: https                          # https | aes | des
            id: 12345
            token: {file: FOLDER/tencent.token}
            key: {file: FOLDER/tencent.key}
            servers: [119.29.29.99, 119.28.28.99]
            client-subnet: 203.0.113.7
            timeout: 2s
            retries-before-switch: 3
            return-to-primary-after: 10m
          alibaba:
            kind: alibaba
            account: "100000"
            secret: {credential: alibaba-secret}
            aes-key: {credential: alibaba-aes}
            api: v2
            encryption: gcm
            scheme: https
            tls-name: resolvers.httpdns.aliyuncs.com
            region: cn
            schedule: true
          alidns:
            kind: json
            url: https://dns.alidns.com/resolve
            servers: [223.5.5.5, 223.6.6.6]

        routes:                                     # most specific domain wins
          - domains: [example.com, "=only.this.cn", "*.below.cn"]
            except: [internal.example.com]
            vendors: [tencent, alibaba]
            fallback: upstream
            stale: on
          - domains: [corp.lan, 10.in-addr.arpa]
            upstreams: [office]

        upstreams:
          - {name: dnspod, url: "https://doh.pub/dns-query", addresses: [1.12.12.12, 120.53.53.53]}
          - {name: dot,    url: "tls://dot.pub",             addresses: [1.12.12.12]}
          - {name: isp,    url: "udp://192.168.1.1"}
          - {name: office, url: "udp://10.0.0.53", only: true}

        hosts:
          files: [/etc/hosts]
          records: {printer.lan: [192.0.2.9]}

        cache:
          size: 64MiB
          minimum-ttl: 0s
          maximum-ttl: 1d
          negative-ttl: {minimum: 5s, maximum: 5m}
          stale: {window: 1d, after: 300ms, ttl: 30s}
          prefetch: {at: 75%, budget-per-minute: 60, names: [www.example.com]}
          snapshot: /var/lib/httpdnsd/cache.snapshot
        answers: {https-records: align, aaaa: keep, order: as-received}
        control: {socket: /run/httpdnsd/control.sock, mode: "0660", group: httpdns}
        metrics: {listen: "127.0.0.1:9353"}
        log: {level: info, queries: false}
        """

    private func contract(in folder: TemporaryFolder) throws -> String {
        _ = try folder.write("1234567\n", to: "tencent.token")
        _ = try folder.write("1234567890123456\n", to: "tencent.key")
        _ = try folder.write("00112233445566778899aabbccddeeff\n", to: "alibaba-secret")
        _ = try folder.write("ffeeddccbbaa99887766554433221100\n", to: "alibaba-aes")
        return Self.contract.replacing("FOLDER", with: folder.path)
    }

    @Test("the daemon knows every option of the reference file")
    func supported() throws {
        let folder = try TemporaryFolder()
        let loaded = try settings(
            of: contract(in: folder),
            environment: SettingsEnvironment(credentialsDirectory: folder.path)
        )
        #expect(
            loaded.warnings.map(\.message).filter { !$0.contains("unlimited costs") }
                == ["the vendor `alidns` is unused: no route names it"]
        )
        #expect(loaded.vendors.map(\.account.kind) == [.tencent, .alibaba, .json])
        #expect(loaded.vendors.map(\.account.channel) == ["https", "v2 gcm", "https"])
        let vendor = try #require(loaded.vendors.first)
        #expect(vendor.tencent.channel == .https)
        #expect(vendor.tencent.id == 12345)
        #expect(vendor.tencent.token?.value.copy == [UInt8]("1234567".utf8))
        #expect(vendor.tencent.key?.value.count == 16)
        #expect(texts(vendor.servers) == ["119.29.29.99:443", "119.28.28.99:443"])
        #expect(vendor.client.timeout == .seconds(2))
        #expect(vendor.client.retriesBeforeSwitch == 3)
        let alibaba = loaded.vendors[1]
        #expect(alibaba.alibaba.account == "100000")
        #expect(alibaba.alibaba.secret?.source == .credential("alibaba-secret"))
        #expect(alibaba.alibaba.aesKey?.value.count == 32)
        #expect(alibaba.alibaba.encryption == .gcm)
        #expect(alibaba.alibaba.schedule == true)
        #expect(alibaba.alibaba.tlsName == "resolvers.httpdns.aliyuncs.com")
        #expect(alibaba.servers.first?.description == "203.107.1.1:443")
        #expect(loaded.vendors[2].json.url?.text == "https://dns.alidns.com/resolve")
        #expect(texts(loaded.vendors[2].servers) == ["223.5.5.5:443", "223.6.6.6:443"])
        #expect(
            loaded.routes.map { texts($0.domains) } == [
                ["example.com", "=only.this.cn", "*.below.cn"], ["corp.lan", "10.in-addr.arpa"],
            ]
        )
        #expect(loaded.cache.snapshot == .file("/var/lib/httpdnsd/cache.snapshot"))
        #expect(loaded.routes.map(\.upstreams) == [[], ["office"]])
        #expect(
            texts(loaded.upstreams.map(\.url)) == [
                "https://doh.pub/dns-query", "tls://dot.pub", "udp://192.168.1.1",
                "udp://10.0.0.53",
            ]
        )
        #expect(
            loaded.upstreams.map { texts($0.servers) } == [
                ["1.12.12.12:443", "120.53.53.53:443"], ["1.12.12.12:853"], ["192.168.1.1:53"],
                ["10.0.0.53:53"],
            ]
        )
        #expect(loaded.upstreams.map(\.only) == [false, false, false, true])
        #expect(loaded.hosts.files == ["/etc/hosts"])
        #expect(loaded.hosts.records.map(\.name.text) == ["printer.lan"])
        #expect(texts(loaded.hosts.records.flatMap(\.addresses)) == ["192.0.2.9"])
        var expected = Settings()
        expected.hosts.records = loaded.hosts.records
        expected.vendors = loaded.vendors
        expected.routes = loaded.routes
        expected.upstreams = loaded.upstreams
        expected.warnings = loaded.warnings
        expected.metrics.listen = [.address(try #require(SocketAddress("127.0.0.1:9353")))]
        expected.cache.prefetch?.names = try [Name("www.example.com")]
        expected.cache.snapshot = .file("/var/lib/httpdnsd/cache.snapshot")
        #expect(loaded == expected)
    }

    @Test("a value that does not change the behavior of the daemon is accepted")
    func harmless() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("1", to: "token")
        _ = try settings(
            of: isp + """
                vendors: {t: {kind: tencent, token: {file: \(file)}, auth-expiry: off, http: 2}}
                routes: [{domains: [example.com], vendors: [t], stale: off}]
                cache: {stale: off}
                answers: {aaaa: keep, order: as-received}
                """
        )
    }
}
