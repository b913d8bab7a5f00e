// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// What is around the daemon: containers, clock, certificates, and who is on the way.
extension Check {
    /// Whether containers reach the daemon: their loopback is not ours.
    static let containers = Check("containers") { machine in
        var verdicts: [Verdict] = []
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
                verdicts.append(
                    isOurs
                        ? .ok("Docker's containers ask \(names.joined(separator: ", "))")
                        : .warning(
                            "Docker's containers ask \(names.joined(separator: ", ")), "
                                + "not the daemon",
                            fix:
                                "listen on the bridge's address, such as 172.17.0.1:53, with allow "
                                + "for 172.16.0.0/12, and name it in dns of daemon.json"
                        )
                )
            } else if isLoopback {
                verdicts.append(
                    .warning(
                        "Docker gives containers 8.8.8.8 instead of a loopback address",
                        fix: "listen on 172.17.0.1:53 with allow for 172.16.0.0/12, and "
                            + "{\"dns\": [\"172.17.0.1\"]} in /etc/docker/daemon.json"
                    )
                )
            }
        }
        if let kubelet = machine.containerFiles["/var/lib/kubelet/config.yaml"] {
            let line = kubelet.split(separator: "\n").first { $0.hasPrefix("resolvConf:") }
            let path = line?.split(separator: " ").last.map(String.init) ?? "/etc/resolv.conf"
            if path == "/etc/resolv.conf", isLoopback {
                verdicts.append(
                    .failure(
                        "pods get a loopback address from \(path): CoreDNS would ask itself",
                        fix: "write a file that names an address of this machine, and set "
                            + "resolvConf in /var/lib/kubelet/config.yaml to it"
                    )
                )
            }
        }
        if let podman = machine.containerFiles["/etc/containers/containers.conf"] {
            let names = strings(after: "dns_servers", in: podman)
            if !names.isEmpty, !names.contains(where: reachable.contains) {
                verdicts.append(
                    .warning(
                        "podman's containers ask \(names.joined(separator: ", ")), not the daemon",
                        fix:
                            "set dns_servers in /etc/containers/containers.conf to an address that "
                            + "the daemon listens on"
                    )
                )
            }
        }
        return verdicts
    }

    /// The quoted strings of the list that follows a key, in JSON or TOML; comments are no keys.
    private static func strings(after key: String, in text: String) -> [String] {
        let lines = text.split(separator: "\n").filter { line in
            line.first { $0 != " " && $0 != "\t" } != "#"
        }.joined(separator: "\n")
        guard let start = lines.firstRange(of: key) else { return [] }
        let rest = lines[start.upperBound...].drop { " :=\n\t".contains($0) }
        guard rest.hasPrefix("[") else { return [] }
        return rest.dropFirst().prefix { $0 != "]" }.split(separator: ",").map { item in
            String(item.filter { !" \"'\n\t".contains($0) })
        }.filter { !$0.isEmpty }
    }

    /// Beyond this many seconds vendors refuse signatures sooner or later; the least known is 15 min.
    private static let largestSkew = 60

    /// Whether the clock is right.
    static let clock = Check("clock") { machine in
        var verdicts: [Verdict] = []
        let fix = "timedatectl set-ntp true"
        for vendor in machine.status?.vendors ?? [] {
            guard let skew = vendor.clockSkewSeconds, abs(skew) >= largestSkew else { continue }
            let side = skew > 0 ? "behind" : "ahead of"
            verdicts.append(
                .warning(
                    "this machine's clock is \(Units.seconds(abs(skew))) \(side) \(vendor.name)'s",
                    fix: fix
                )
            )
        }
        switch machine.isClockSynchronised {
        case true?: if verdicts.isEmpty { verdicts.append(.ok("synchronised")) }
        case false?:
            verdicts.append(
                .warning(
                    "nothing keeps the clock right: signatures and certificates need it",
                    fix: fix
                )
            )
        case nil: break
        }
        return verdicts
    }

    /// Whether there are certificates to verify vendors and upstreams with.
    static let certificates = Check("certificates") { machine in
        if let store = machine.certificateStores.first { return [.ok("store \(store)")] }
        return [
            .failure(
                "there is no store of certificates: nothing over TLS can be verified",
                fix: "apt-get install ca-certificates, or dnf install ca-certificates"
            )
        ]
    }

    /// Whether somebody on the way answers port 53 in place of who is asked.
    static let interception = Check("interception") { machine in
        guard let probes = machine.interceptors else {
            return [.skipped("asks an address that nobody has, with --network only")]
        }
        let answered = probes.filter(\.isAnswered)
        guard let first = answered.first else {
            return [.ok("an address that nobody has answers nothing on port 53")]
        }
        let list = answered.map { "\($0.server) over \($0.transport.rawValue)" }
        return [
            .warning(
                "somebody on the way answers port 53: \(list.joined(separator: ", ")) has no owner",
                fix:
                    "use upstreams over https:// or tls://; plain \(first.transport.rawValue) ones "
                    + "are forged"
            )
        ]
    }
}
