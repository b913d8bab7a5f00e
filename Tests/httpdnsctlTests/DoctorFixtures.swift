// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Testing

@testable import httpdnsctl

struct Fixture: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let machine: MachineFacts
    let check: Check
    let state: Finding.State
    let words: String

    init(
        _ label: String,
        _ check: Check,
        _ state: Finding.State,
        _ words: String,
        _ change: (inout MachineFacts) -> Void
    ) {
        var machine = Self.healthy
        change(&machine)
        testDescription = "\(check.name): \(label)"
        self.machine = machine
        self.check = check
        self.state = state
        self.words = words
    }

    static let pid = 4711

    static var status: StatusReply {
        var status = StatusReply(
            state: .ready,
            version: Product.version,
            pid: pid,
            uptimeSeconds: 60
        )
        status.listeners = ["127.0.0.1:53", "[::1]:53"].flatMap { address in
            ["udp", "tcp"].map {
                ListenerStatus(address: address, transport: $0, origin: "settings")
            }
        }
        status.vendors = [VendorStatus(name: "tencent", kind: "tencent", channel: "https")]
        status.upstreams = [
            UpstreamStatus(name: "doh", url: "https://dns.example", protected: true, state: .up)
        ]
        return status
    }

    static func socket(
        _ address: String,
        _ name: String?,
        pid: Int = 1,
        over transport: Probe.Transport = .udp
    ) -> [MachineFacts.PortSocket] {
        ServerAddress(address).map {
            [
                MachineFacts.PortSocket(
                    server: $0,
                    transport: transport,
                    user: 0,
                    process: name.map { .init(name: $0, pid: pid) }
                )
            ]
        } ?? []
    }

    static var healthy: MachineFacts {
        var machine = MachineFacts()
        machine.daemon = .success(status)
        machine.answers = Self.status.listeners.compactMap { listener in
            ServerAddress(listener.address).map {
                .init(
                    server: $0,
                    transport: listener.transport == "udp" ? .udp : .tcp,
                    outcome: .answer(.noError, [])
                )
            }
        }
        machine.sockets = socket("127.0.0.1", "httpdnsd", pid: pid)
        machine.sockets += socket("::1", "httpdnsd", pid: pid)
        machine.resolver.text = "nameserver 127.0.0.1\nnameserver ::1\noptions edns0 trust-ad\n"
        machine.resolver.resolvConf = .file(machine.resolver.text ?? "")
        machine.nsswitch = "passwd: files\nhosts: files mdns4_minimal [NOTFOUND=return] dns\n"
        machine.lookup = .init(name: "a.test", duration: .milliseconds(3), seenByDaemon: 2)
        machine.unit = .init(active: "active", enabled: "enabled")
        machine.socket = .init(
            path: "/run/httpdnsd/control.sock",
            mode: 0o660,
            user: 0,
            group: 990,
            groupName: "httpdns"
        )
        machine.settings = .init(status: 0, output: "ok\n")
        machine.descriptors = 65_536
        machine.isClockSynchronised = true
        machine.certificateStores = ["/etc/ssl/certs/ca-certificates.crt"]
        return machine
    }

    static func status(_ change: (inout StatusReply) -> Void) -> Result<StatusReply, Failure> {
        var status = status
        change(&status)
        return .success(status)
    }

    static let down = Result<StatusReply, Failure>.failure(
        Failure(message: "there is no socket", hint: "start it", status: .unreachable)
    )

    static let all = daemon + port + resolver + neighbours

    private static let daemon = [
        Fixture("not running", .daemon, .failure, "there is no socket") { $0.daemon = down },
        Fixture("degraded", .daemon, .warning, "degraded: no vendor") {
            $0.daemon = status {
                $0.state = .degraded
                $0.problems = ["no vendor"]
            }
        },
        Fixture("another build", .version, .warning, "0.0.1") {
            $0.daemon = status { $0.version = "0.0.1" }
        },
        Fixture("inactive", .unit, .failure, "inactive") {
            $0.daemon = down
            $0.unit = .init(active: "inactive", enabled: "disabled")
        },
        Fixture(
            "error in the settings",
            .unit,
            .failure,
            "systemctl reset-failed 'httpdnsd*' && systemctl restart httpdnsd"
        ) {
            $0.daemon = down
            $0.unit = .init(active: "failed", enabled: "enabled", result: "exit-code", code: 2)
        },
        Fixture("start limit reached", .unit, .failure, "systemctl reset-failed 'httpdnsd*'") {
            $0.daemon = down
            $0.unit = .init("ActiveState=failed\nResult=signal\nExecMainStatus=9\n")
        },
        Fixture("restarts", .unit, .warning, "ended (exit code 1), and systemd will") {
            $0.daemon = down
            $0.unit = .init(
                "ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nExecMainStatus=1\n"
            )
        },
        Fixture("unreadable settings", .unit, .failure, "chmod 644 /etc/httpdnsd/httpdnsd.yaml") {
            $0.daemon = down
            $0.unit = .init("ActiveState=failed\nResult=exit-code\nExecMainStatus=2\n")
            $0.closedSettings = ["/etc/httpdnsd/httpdnsd.yaml"]
        },
        Fixture("settings for root only", .settings, .failure, "chmod 644") {
            $0.closedSettings = ["/etc/httpdnsd/httpdnsd.yaml"]
        },
        Fixture("settings not allowed", .unit, .failure, "cannot be applied on this machine") {
            $0.daemon = down
            $0.unit = .init("ActiveState=failed\nResult=exit-code\nExecMainStatus=78\n")
        },
        Fixture("no credential", .unit, .failure, "LoadCredential=") {
            $0.daemon = down
            $0.unit = .init("ActiveState=failed\nResult=exit-code\nExecMainStatus=243\n")
        },
        Fixture("failed", .unit, .failure, "failed") {
            $0.daemon = down
            $0.unit = .init(active: "failed", enabled: "enabled")
        },
        Fixture("started manually", .unit, .warning, "not as httpdnsd.service") {
            $0.unit = .init(active: "inactive", enabled: "disabled")
        },
        Fixture("not started at boot", .unit, .warning, "does not start at boot") {
            $0.unit = .init(active: "active", enabled: "disabled")
        },
        Fixture("open to all", .controlSocket, .warning, "all users") { $0.socket?.mode = 0o666 },
        Fixture("closed to this user", .controlSocket, .warning, "but not to you") {
            $0.socket?.isWritable = false
        },
        Fixture("wrong", .settings, .failure, "3:1: unknown key") {
            $0.settings = .init(status: 2, output: "/etc/x.yaml:3:1: unknown key\n")
        },
        Fixture("a setting that the service cannot use", .settings, .failure, "httpdnsd --check") {
            $0.settings = .init(
                status: 0,
                output: "warning: x:1:1: after a restart, this machine would have no DNS\nok\n"
            )
        },
        Fixture("missing credentials of the unit", .settings, .ok, "without credentials") {
            $0.settings = .init(
                status: 2,
                output: "x:1:1: there are no credentials: $CREDENTIALS_DIRECTORY is not set\n"
            )
        },
        Fixture("unchecked credentials", .settings, .ok, "without credentials") {
            $0.settings = .init(
                status: 0,
                output:
                    "warning: x:1:1: `t` is not checked: $CREDENTIALS_DIRECTORY is not set\nok\n"
            )
        },
        Fixture("none", .settings, .warning, "does not exist") { $0.hasSettings = false },
        Fixture("valid for the daemon", .settings, .ok, "and in force") {
            $0.settingsCheck = ReloadReply(applied: false)
            $0.settings = .init(status: 2, output: "unused\n")
        },
        Fixture("invalid for the daemon", .settings, .failure, "/f.yaml:3:1: unknown key") {
            $0.settingsCheck = ReloadReply(
                applied: false,
                problems: [
                    .init(file: "/f.yaml", line: 3, column: 1, message: "unknown key", hint: nil)
                ]
            )
        },
        Fixture("changed settings", .settings, .warning, "not yet in force: log.level, allow") {
            $0.settingsCheck = ReloadReply(
                applied: false,
                changes: [
                    .init(path: "log.level", kind: .changed, old: "info", new: "debug"),
                    .init(path: "allow", kind: .changed, old: "[]", new: "[192.0.2.0/24]"),
                ]
            )
        },
        Fixture("settings that need a restart", .settings, .warning, "systemctl restart") {
            $0.settingsCheck = ReloadReply(
                applied: false,
                changes: [.init(path: "workers", kind: .changed, old: "auto", new: "2")],
                needsRestart: ["workers"]
            )
        },
        Fixture("readable by all", .secrets, .failure, "/k is readable by all users") {
            $0.secrets = [.init(path: "/k", mode: 0o644, user: 0, group: 0)]
        },
        Fixture("low limit", .descriptors, .warning, "1,024") { $0.descriptors = 1024 },
        Fixture("acceleration off", .kernel, .ok, "acceleration off: it may not") {
            $0.daemon = status {
                $0.acceleration = AccelerationStatus(state: .off, why: "it may not")
            }
        },
        Fixture("acceleration on", .kernel, .ok, "7 answers") {
            $0.daemon = status {
                $0.acceleration = AccelerationStatus(state: .on)
                $0.acceleration?.answers = 7
            }
        },
        Fixture("account refused", .vendors, .failure, "tencent") {
            $0.daemon = status {
                $0.vendors[0].state = .down
                $0.vendors[0].rest = VendorRest(by: .account, forSeconds: 300, error: "401")
            }
        },
        Fixture("paused", .vendors, .ok, "tencent") {
            $0.daemon = status {
                $0.vendors[0].state = .paused
                $0.vendors[0].rest = VendorRest(by: .operator)
            }
        },
        Fixture("no address for any name", .vendors, .warning, "no address for 21 lookups") {
            $0.emptyVendors = ["tencent": 21]
        },
        Fixture("no client-subnet", .clientAddress, .ok, "sees this machine as 203.0.113.9") {
            $0.daemon = status { $0.vendors[0].clientAddress = "203.0.113.9" }
        },
        Fixture("client-subnet used", .clientAddress, .ok, "client-subnet 203.0.113.7") {
            $0.daemon = status {
                $0.vendors[0].clientAddress = "203.0.113.9"
                $0.vendors[0].clientSubnet = "203.0.113.7"
            }
        },
        Fixture("client-subnet ignored", .clientAddress, .warning, "for 198.51.100.1, but") {
            $0.daemon = status {
                $0.vendors[0].clientAddress = "198.51.100.1"
                $0.vendors[0].clientSubnet = "203.0.113.7"
            }
        },
        Fixture("client-subnet of the other family", .clientAddress, .warning, "ignores") {
            $0.daemon = status {
                $0.vendors[0].clientAddress = "2001:db8::1"
                $0.vendors[0].clientSubnet = "203.0.113.7"
            }
        },
        Fixture("down", .vendors, .failure, "does not answer: timeout") {
            $0.daemon = status {
                var server = VendorServer(address: "192.0.2.1")
                server.lastError = "timeout"
                $0.vendors[0].servers = [server]
                $0.vendors[0].state = .down
            }
        },
        Fixture("all down", .upstreams, .failure, "doh is down") {
            $0.daemon = status { $0.upstreams[0].state = .down }
        },
        Fixture("one of two down", .upstreams, .warning, "doh is down") {
            $0.daemon = status {
                $0.upstreams.append($0.upstreams[0])
                $0.upstreams[0].state = .down
            }
        },
        Fixture("paused", .upstreams, .warning, "doh is paused by the operator") {
            $0.daemon = status { $0.upstreams[0].state = .paused }
        },
        Fixture("forged replies", .upstreams, .warning, "12 messages from its address") {
            $0.daemon = status { $0.upstreams[0].foreignReplies = 12 }
        },
        Fixture("a few late replies", .upstreams, .ok, "doh is up") {
            $0.daemon = status {
                $0.upstreams[0].calls = 1_200
                $0.upstreams[0].foreignReplies = 12
            }
        },
        Fixture("a loop", .upstreams, .failure, "back to this daemon") {
            $0.daemon = status {
                $0.upstreams[0].servers = [
                    UpstreamServer(
                        url: "udp://192.0.2.1",
                        transport: "udp",
                        protected: false,
                        state: .loops
                    )
                ]
            }
        },
    ]

    private static let port = [
        Fixture("unused", .port, .failure, "port 53 is not in use") {
            $0.daemon = down
            $0.sockets = []
        },
        Fixture("another port", .port, .warning, "127.0.0.1:5353") {
            $0.daemon = status {
                $0.listeners = [
                    ListenerStatus(address: "127.0.0.1:5353", transport: "udp", origin: "settings")
                ]
            }
            $0.sockets = []
        },
        Fixture("a port shared with SO_REUSEPORT", .port, .failure, "is used by python3 (pid 900)")
        {
            $0.sockets += socket("127.0.0.1", "python3", pid: 900)
        },
        Fixture("dnsmasq", .port, .failure, "127.0.0.1:53 (udp) is used by dnsmasq (pid 812)") {
            $0.daemon = down
            $0.sockets = socket("127.0.0.1", "dnsmasq", pid: 812)
        },
        Fixture("unbound everywhere", .port, .failure, "0.0.0.0:53 (tcp) is used by unbound") {
            $0.daemon = down
            $0.sockets = socket("0.0.0.0", "unbound", pid: 813, over: .tcp)
        },
        Fixture("stub of systemd-resolved is no conflict", .port, .ok, "127.0.0.53:53") {
            $0.sockets += socket("127.0.0.53", "systemd-resolve")
        },
        Fixture("stub of systemd-resolved", .port, .warning, "cannot listen on that address or") {
            $0.daemon = down
            $0.sockets = socket("127.0.0.53", "systemd-resolve")
        },
        Fixture("unknown process", .port, .failure, "a process of user 0") {
            $0.daemon = down
            $0.unit?.active = "failed"
            $0.isRoot = false
            $0.sockets = socket("127.0.0.1", nil)
        },
        Fixture("user outside the group", .port, .skipped, "only root can see which program") {
            $0.daemon = down
            $0.isRoot = false
            $0.sockets = socket("127.0.0.1", nil) + socket("127.0.0.1", nil, over: .tcp)
        },
        Fixture("dnsmasq of libvirt on another address", .port, .ok, "192.168.122.1:53 (udp)") {
            $0.sockets += socket("192.168.122.1", "dnsmasq")
        },
        Fixture("no answer", .answers, .failure, "127.0.0.1 over udp does not answer") {
            $0.answers[0].outcome = .silence
        },
        Fixture("daemon down", .answers, .skipped, "listeners are unknown") {
            $0.daemon = down
        },
        Fixture("refused", .answers, .failure, "refuses queries of this machine") {
            $0.answers[0].outcome = .answer(.refused, [])
        },
        Fixture("no TCP", .answers, .failure, "over tcp: Connection refused") {
            $0.answers[1].outcome = .fault("Connection refused")
        },
    ]

    private static let resolver = [
        Fixture("another server", .resolvConf, .failure, "programs use 192.0.2.1") {
            $0.resolver.text = "nameserver 192.0.2.1\n"
        },
        Fixture("another port", .resolvConf, .failure, "add 127.0.0.1:53 to `listen`") {
            $0.daemon = status {
                $0.listeners = [
                    ListenerStatus(address: "127.0.0.1:5353", transport: "udp", origin: "settings")
                ]
            }
            $0.resolver.text = "nameserver 192.0.2.1\n"
        },
        Fixture("empty", .resolvConf, .warning, "has no nameserver") { $0.resolver.text = "" },
        Fixture("a second server as reserve", .resolvConf, .warning, "query 192.0.2.1") {
            $0.resolver.text = "nameserver 127.0.0.1\nnameserver 192.0.2.1\n"
        },
        Fixture("rotation between servers", .resolvConf, .failure, "'rotate' sends some") {
            $0.resolver.text = "nameserver 127.0.0.1\nnameserver 192.0.2.1\noptions rotate\n"
        },
        Fixture("unused fourth server", .resolvConf, .ok, "points to 127.0.0.1") {
            $0.resolver.text = """
                nameserver 127.0.0.1
                nameserver ::1
                nameserver 127.0.0.1
                nameserver 192.0.2.1
                """
        },
        Fixture("ndots", .resolvConf, .warning, "try 2 search domains") {
            $0.resolver.text = "nameserver 127.0.0.1\nsearch a b\noptions ndots:5\n"
        },
        Fixture("short timeout", .resolvConf, .warning, "timeout:1") {
            $0.resolver.text = "nameserver 127.0.0.1\noptions timeout:1\n"
        },
        Fixture("only TCP", .resolvConf, .warning, "use-vc") {
            $0.resolver.text = "nameserver 127.0.0.1\noptions use-vc\n"
        },
        Fixture("resolved forwards", .resolvConf, .ok, "forwards to the daemon") { resolved(&$0) },
        Fixture("resolved does not forward", .resolvConf, .failure, "use 127.0.0.53") {
            $0.resolver = MachineSample.all[0].facts
        },
        Fixture("resolved has another server", .resolvConf, .failure, "use 127.0.0.53") {
            resolved(&$0, "DNS = 192.0.2.1\n")
        },
        Fixture("resolved requires TLS", .resolvConf, .failure, "use 127.0.0.53") {
            resolved(&$0, "DNSOverTLS = yes\n")
        },
        Fixture("a link with all names", .resolvConf, .failure, "of eth0 (routing domain ~.)") {
            resolved(&$0)
            $0.resolver.greedyLinks = ["eth0"]
        },
        Fixture("nss-resolve, a link with all names", .nsswitch, .failure, "(routing domain ~.)") {
            resolved(&$0)
            $0.resolver.greedyLinks = ["wg0"]
            $0.nsswitch = "hosts: files resolve [!UNAVAIL=return] dns\n"
        },
        Fixture("changed", .setup, .warning, "/etc/resolv.conf") {
            $0.journal = SetupJournal(owner: "nobody", entries: [], commands: [])
            $0.changedFiles = ["/etc/resolv.conf"]
        },
        Fixture("a file of an earlier version", .setup, .warning, "90-httpdnsd.conf") {
            $0.resolver.files[ResolverFacts.Paths.formerNetworkManagerConfig] = .file(
                "# Written by httpdnsctl setup: NetworkManager does not write /etc/resolv.conf.\n"
            )
        },
        Fixture("journal lost", .setup, .warning, "are not in the setup journal") {
            $0.lostOriginals = ["/etc/resolv.conf"]
        },
        Fixture("no dns", .nsswitch, .failure, "never uses DNS") {
            $0.nsswitch = "hosts: files mymachines\n"
        },
        Fixture("resolve only, forwarding", .nsswitch, .ok, "resolve") {
            resolved(&$0)
            $0.nsswitch = "hosts: files resolve\n"
        },
        Fixture("resolve first, no forwarding", .nsswitch, .failure, "uses systemd-resolved first")
        {
            $0.resolver.present = ["/run/systemd/resolve"]
            $0.nsswitch = "hosts: files resolve [!UNAVAIL=return] dns\n"
        },
        Fixture("resolve first, not running", .nsswitch, .ok, "resolve") {
            $0.nsswitch = "hosts: files resolve [!UNAVAIL=return] dns\n"
        },
        Fixture("mdns4 instead of mdns4_minimal", .nsswitch, .warning, "mdns4_minimal in") {
            $0.nsswitch = "hosts: files mdns4 dns # mdns4_minimal\n"
        },
        Fixture("none", .nsswitch, .ok, "nsswitch.conf does not exist") { $0.nsswitch = nil },
        Fixture("a proxy", .proxy, .warning, "http_proxy=http://192.0.2.1:3128") {
            $0.proxies = [
                ProxySetting(
                    place: "/etc/environment",
                    name: "http_proxy",
                    value: "http://192.0.2.1:3128"
                )
            ]
        },
        Fixture("a variable", .environment, .warning, "RES_OPTIONS=use-vc") {
            $0.environment = ["RES_OPTIONS": "use-vc"]
        },
        Fixture("nscd", .nameCache, .warning, "nscd caches answers") { $0.processes = ["nscd"] },
        Fixture("sssd", .nameCache, .warning, "sssd") {
            $0.processes = ["sssd_nss"]
            $0.nsswitch = "hosts: files sss dns\n"
        },
        Fixture("timeout", .getaddrinfo, .failure, "timed out") { $0.lookup?.duration = nil },
        Fixture("slow", .getaddrinfo, .warning, "took 1.50 s") {
            $0.lookup?.duration = .milliseconds(1500)
        },
        Fixture("another server answers", .getaddrinfo, .failure, "do not reach the daemon") {
            $0.lookup?.seenByDaemon = 0
        },
        Fixture("another answer", .getaddrinfo, .warning, "programs get 192.0.2.1") {
            $0.lookup?.addresses = addresses("192.0.2.1")
            $0.lookup?.expected = addresses("192.0.2.2")
        },
        Fixture("the same answer", .getaddrinfo, .ok, "uses the daemon") {
            $0.lookup?.addresses = addresses("192.0.2.1")
            $0.lookup?.expected = addresses("192.0.2.1")
        },
        Fixture("a family that this machine lacks", .getaddrinfo, .ok, "uses the daemon") {
            $0.lookup?.addresses = addresses("192.0.2.1")
            $0.lookup?.expected = addresses("192.0.2.1", "2001:db8::1")
        },
        Fixture("unknown server", .getaddrinfo, .ok, "server is unknown") {
            $0.lookup?.seenByDaemon = nil
        },
        Fixture("no getent", .getaddrinfo, .skipped, "getent") { $0.lookup = nil },
    ]

    private static let neighbours = [
        Fixture("Docker's default", .containers, .warning, "8.8.8.8") {
            $0.processes = ["dockerd"]
        },
        Fixture("Docker uses another server", .containers, .warning, "use 192.0.2.7") {
            $0.processes = ["dockerd"]
            $0.containerFiles["/etc/docker/daemon.json"] = #"{"dns" : ["192.0.2.7"]}"#
        },
        Fixture("Docker uses the daemon", .containers, .ok, "172.17.0.1") {
            $0.processes = ["dockerd"]
            $0.containerFiles["/etc/docker/daemon.json"] = #"{"dns": ["172.17.0.1"]}"#
            $0.daemon = status {
                $0.listeners.append(
                    ListenerStatus(address: "172.17.0.1:53", transport: "udp", origin: "settings")
                )
            }
        },
        Fixture("kubelet's default", .containers, .failure, "CoreDNS would query itself") {
            $0.containerFiles["/var/lib/kubelet/config.yaml"] = "kind: KubeletConfiguration\n"
        },
        Fixture("podman uses another server", .containers, .warning, "192.0.2.7") {
            $0.containerFiles["/etc/containers/containers.conf"] =
                "[containers]\n#dns_servers = [\"9.9.9.9\"]\ndns_servers = [\n \"192.0.2.7\",\n]\n"
        },
        Fixture("skew", .clock, .warning, "2 min behind tencent's") {
            $0.daemon = status { $0.vendors[0].clockSkewSeconds = 120 }
        },
        Fixture("not synchronized", .clock, .warning, "not synchronized") {
            $0.isClockSynchronised = false
        },
        Fixture("not synchronized, without systemd", .clock, .warning, "start an NTP client") {
            $0.unit = nil
            $0.isClockSynchronised = false
        },
        Fixture("none", .certificates, .failure, "no certificate") { $0.certificateStores = [] },
        Fixture("intercepted", .interception, .warning, "DNS server: 192.0.2.1 over udp") {
            $0.interceptors = interceptors(answer: true)
        },
        Fixture("not intercepted", .interception, .ok, "port 53 is not intercepted") {
            $0.interceptors = interceptors(answer: false)
        },
        Fixture("not checked", .interception, .skipped, "--network") { _ in },
    ]

    private static func resolved(_ machine: inout MachineFacts, _ more: String = "") {
        machine.resolver = MachineSample.all[0].facts
        machine.resolver.resolvedSettings = ResolvedSettings(
            "[Resolve]\nDNS=\nDNS=127.0.0.1 ::1\nDomains=~.\n" + more
        )
    }

    private static func addresses(_ texts: String...) -> Set<IPAddress> {
        Set(texts.compactMap { IPAddress($0) })
    }

    /// Queries to documentation addresses (RFC 5737): any answer is from an interceptor.
    private static func interceptors(answer: Bool) -> [MachineFacts.Interception] {
        ["192.0.2.1"].compactMap { ServerAddress($0) }.map {
            .init(server: $0, transport: .udp, isAnswered: answer)
        }
    }
}
