// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

extension Check {
    /// Containers cannot query the daemon at a loopback address.
    static let containers = Check("containers") { machine in
        var results: [Verdict] = []
        let file = ResolvConfText(machine.resolver.text ?? "")
        let isLoopback =
            !file.nameservers.isEmpty
            && file.nameservers.allSatisfy { IPAddress($0)?.isLoopback ?? false }
        let reachable =
            machine.status?.listeners.compactMap { ServerAddress($0.address) }
            .filter { !$0.address.isLoopback }.map { "\($0.address)" } ?? []
        if machine.processes.contains("dockerd") {
            let text = machine.containerFiles["/etc/docker/daemon.json"] ?? ""
            let names = strings(after: "\"dns\"", in: text)
            if !names.isEmpty {
                let isOurs =
                    names.contains { reachable.contains($0) }
                    || reachable.contains { $0 == "0.0.0.0" || $0 == "::" }
                results.append(
                    isOurs
                        ? .ok("Docker containers use \(names.joined(separator: ", "))")
                        : .warning(
                            "Docker containers use \(names.joined(separator: ", ")), "
                                + "not the daemon",
                            fix:
                                "add the bridge address, such as 172.17.0.1:53, to `listen`, add "
                                + "172.16.0.0/12 to `allow`, and set \"dns\" in daemon.json to the "
                                + "bridge address"
                        )
                )
            } else if isLoopback {
                results.warning(
                    "Docker replaces the loopback nameserver with 8.8.8.8 in containers",
                    fix: "add 172.17.0.1:53 to `listen`, add 172.16.0.0/12 to `allow`, and write "
                        + "{\"dns\": [\"172.17.0.1\"]} in /etc/docker/daemon.json"
                )
            }
        }
        if let kubelet = machine.containerFiles["/var/lib/kubelet/config.yaml"] {
            let line = kubelet.split(whereSeparator: \.isNewline).first {
                $0.hasPrefix("resolvConf:")
            }
            let path = line?.split(separator: " ").last.map(String.init) ?? "/etc/resolv.conf"
            if path == "/etc/resolv.conf", isLoopback {
                results.failure(
                    "pods get a loopback nameserver from \(path): CoreDNS would query itself",
                    fix: "write a file with a nameserver line that has a non-loopback address of "
                        + "this machine, and set resolvConf in /var/lib/kubelet/config.yaml to the "
                        + "path of this file"
                )
            }
        }
        if let podman = machine.containerFiles["/etc/containers/containers.conf"] {
            let names = strings(after: "dns_servers", in: podman)
            if !names.isEmpty, !names.contains(where: reachable.contains) {
                results.warning(
                    "podman containers use \(names.joined(separator: ", ")), not the daemon",
                    fix:
                        "set dns_servers in /etc/containers/containers.conf to an address that "
                        + "the daemon listens on"
                )
            }
        }
        return results
    }

    private static func strings(after key: String, in text: String) -> [String] {
        let lines = text.split(whereSeparator: \.isNewline).filter { line in
            line.first { $0 != " " && $0 != "\t" } != "#"
        }.joined(separator: "\n")
        guard let start = lines.firstRange(of: key) else { return [] }
        let rest = lines[start.upperBound...].drop { " :=\n\t".contains($0) }
        guard rest.hasPrefix("[") else { return [] }
        return rest.dropFirst().prefix { $0 != "]" }.split(separator: ",").map { item in
            String(item.filter { !" \"'\n\t".contains($0) })
        }.filter { !$0.isEmpty }
    }

    /// Smallest clock error, in seconds, that causes a warning.
    private static let largestSkew = 60

    static let clock = Check("clock") { machine in
        var results: [Verdict] = []
        let hasSystemd = machine.unit != nil
        let fix = hasSystemd ? "timedatectl set-ntp true" : "start an NTP client, such as chrony"
        for vendor in machine.status?.vendors ?? [] {
            guard let skew = vendor.clockSkewSeconds, abs(skew) >= largestSkew else { continue }
            let side = skew > 0 ? "behind" : "ahead of"
            results.warning(
                "this machine's clock is \(Units.seconds(abs(skew))) \(side) \(vendor.name)'s",
                fix: fix
            )
        }
        switch machine.isClockSynchronised {
        case true?: if results.isEmpty { results.ok("synchronized") }
        case false?:
            results.warning(
                "the clock is not synchronized; signatures and certificates depend on it",
                fix: fix
            )
        case nil: break
        }
        return results
    }

    static let certificates = Check("certificates") { machine in
        if let store = machine.certificateStores.first { return .ok("found in \(store)") }
        return .failure(
            "no certificate store found: TLS connections cannot be verified",
            fix: "apt-get install ca-certificates, or dnf install ca-certificates"
        )
    }

    static let interception = Check("interception") { machine in
        guard let probes = machine.interceptors else {
            return .skipped(
                "checked only with --network, which queries addresses without a DNS server"
            )
        }
        let answered = probes.filter(\.isAnswered)
        guard let first = answered.first else {
            return .ok(
                "port 53 is not intercepted: no reply from addresses without a DNS server"
            )
        }
        let list = answered.map { "\($0.server) over \($0.transport.rawValue)" }
        return .warning(
            "port 53 is intercepted: replies came from addresses without a DNS server: "
                + list.joined(separator: ", "),
            fix:
                "use upstreams over https:// or tls://; answers over plain "
                + "\(first.transport.rawValue) are forged"
        )
    }
}
