// SPDX-License-Identifier: Apache-2.0
package import Net

/// Permissions of httpdnsd.service, according to the installed systemd units.
package struct ServiceUnits {
    private static let sockets = ["httpdnsd.socket", "httpdnsd-ipv6.socket"]

    /// Directories of units, lowest precedence first.
    static let directories = [
        "/usr/lib/systemd/system", "/usr/local/lib/systemd/system", "/run/systemd/system",
        "/etc/systemd/system",
    ]

    /// Addresses for which systemd passes both a UDP socket and a TCP socket to the service.
    private var passed: Set<SocketAddress> = []

    private var unprivilegedPort: UInt16

    private let service: Sandbox

    /// Path after `--config` in ExecStart=; nil if the unit has no such path.
    let settingsFile: String?

    private let credentials: Credentials

    /// Reads the units; nil if they are not installed.
    init?(
        in directories: [String] = Self.directories,
        ports: String = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
    ) {
        let service = Self.lines(of: "httpdnsd.service", section: "Service", in: directories)
        guard !service.isEmpty else { return nil }
        self.service = Sandbox(service)
        credentials = Credentials(service)
        let command = service.last { $0.key == "ExecStart" && !$0.value.isEmpty }?.value ?? ""
        let words = command.split { $0 == " " || $0 == "=" }
        let option = words.firstIndex(of: "--config")
        settingsFile = option.flatMap { words.dropFirst($0 + 1).first }.map(String.init)
        unprivilegedPort = Self.text(ports).flatMap { UInt16($0.prefix(while: \.isNumber)) } ?? 1024
        for socket in Self.sockets {
            var addresses: [String: Set<SocketAddress>] = [:]
            for (key, value) in Self.lines(of: socket, section: "Socket", in: directories)
            where key.hasPrefix("Listen") {
                // An empty value, such as `ListenStream=`, removes the addresses of all `Listen…`
                // lines before it.
                guard !value.isEmpty else {
                    addresses = [:]
                    continue
                }
                guard let address = SocketAddress(UInt16(value).map { "[::]:\($0)" } ?? value)
                else { continue }
                addresses[key, default: []].insert(address)
            }
            passed.formUnion(
                addresses["ListenDatagram", default: []]
                    .intersection(addresses["ListenStream", default: []])
            )
        }
    }

    func canListen(on address: SocketAddress) -> Bool {
        address.port == 0 || address.port >= unprivilegedPort || passed.contains(address)
            || service.has(["CAP_NET_BIND_SERVICE"])
    }

    var canAccelerate: Bool { service.has(["CAP_BPF", "CAP_NET_ADMIN"]) }

    var passedAddresses: [SocketAddress] { Array(passed) }

    var user: ServiceUser { service.serviceUser { GroupFile.user($0) } }

    func obstacle(toReading path: String) -> String? { service.obstacle(toReading: path) }

    func credential(_ name: String) -> Credentials.Source { credentials.source(of: name) }

    var credentialFiles: [(name: String, path: String)] { credentials.requiredFiles }

    func obstacle(toWriting path: String) -> String? { service.obstacle(toWriting: path) }

    /// Returns the assignments in a section of a unit and its drop-ins, in the order of evaluation.
    private static func lines(
        of unit: String,
        section: String,
        in directories: [String]
    ) -> [(key: String, value: String)] {
        guard
            let main = directories.map({ "\($0)/\(unit)" })
                .last(where: { RegularFile.fault(of: $0)?.isAbsence != true })
        else { return [] }
        var dropIns: [String: String] = [:]
        for directory in directories.map({ "\($0)/\(unit).d" }) {
            let names = try? SettingsFile.names(in: directory, endingIn: [".conf"])
            for name in names ?? [] { dropIns[name] = "\(directory)/\(name)" }
        }
        let files = [main] + dropIns.sorted { $0.key < $1.key }.map(\.value)
        return files.flatMap { lines(of: section, in: text($0) ?? "") }
    }

    private static func lines(
        of section: String,
        in text: String
    ) -> [(key: String, value: String)] {
        // systemd ignores assignments before the first section of a file.
        var isInSection = false
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            let line = line.drop(while: \.isWhitespace)
            if line.first == "[" {
                isInSection = line.hasPrefix("[\(section)]")
                return nil
            }
            guard isInSection, let sign = line.firstIndex(of: "=") else { return nil }
            let words = line[line.index(after: sign)...].split(whereSeparator: \.isWhitespace)
            return (line[..<sign].filter { !$0.isWhitespace }, words.joined(separator: " "))
        }
    }

    private static func text(_ path: String) -> String? {
        (try? RegularFile(path).read(atMost: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension ServiceUnits {
    static func socket(for address: SocketAddress) -> String { sockets[address.isIPv6 ? 1 : 0] }

    /// Returns the command that shows why systemd has not passed sockets for an address.
    package static func statusCommand(for address: SocketAddress) -> String {
        "systemctl status \(socket(for: address))"
    }

    /// Returns instructions for adding an address to its socket unit.
    ///
    /// The instructions always restart httpdnsd.socket, which also restarts httpdnsd-ipv6.socket:
    /// systemd refuses to restart httpdnsd-ipv6.socket alone while the service runs.
    ///
    /// - Parameter replaces: true if the added address overlaps an address of the unit, so that
    ///   systemd can open only one of the two.
    package static func advice(for address: SocketAddress, replaces: Bool = false) -> String {
        let unit = socket(for: address)
        let reset = replaces || address.isUnspecified ? "ListenDatagram= (empty), " : ""
        return "run `systemctl edit \(unit)` and add below [Socket] the lines \(reset)"
            + "ListenDatagram=\(address) and ListenStream=\(address), then run "
            + "`systemctl restart httpdnsd.socket`"
    }
}
