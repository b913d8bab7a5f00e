// SPDX-License-Identifier: Apache-2.0

/// Watch for the DNS servers in a file in the format of resolv.conf(5).
@ServiceLoop
package final class ResolverFileWatch {
    private let path: String
    private let isOwn: (SocketAddress) -> Bool
    private let report: @ServiceLoop (String) -> Void
    private let handler: Handler
    private var watch: FileWatch?
    private var latest: [LinkResolvers.Server]?
    private var reported: Set<String> = []
    private var fault: String?

    package typealias Handler = @ServiceLoop ([LinkResolvers.Server], _ fault: String?) -> Void

    private static let maximumReports = 64

    package init(
        _ path: String,
        isOwn: @escaping (SocketAddress) -> Bool = { $0.isOwn },
        report: @escaping @ServiceLoop (String) -> Void,
        _ handler: @escaping Handler
    ) {
        self.path = path
        self.isOwn = isOwn
        self.report = report
        self.handler = handler
        let watch = FileWatch(path) { [weak self] in self?.update() }
        self.watch = watch
        if let fault = watch.fault {
            report("network resolvers: cannot watch \(path): \(fault); polling every 10 s")
        }
        update()
    }

    /// Returns the reason why a file has no usable server, or nil.
    package nonisolated static func fault(of path: String) -> String? {
        do throws(FileFault) {
            let (entry, _) = LinkResolvers.reading(
                resolvConf: try ResolverFiles.read(path),
                .file,
                link: ""
            )
            return entry.servers.allSatisfy(\.address.isOwn) ? noServer(in: path) : nil
        } catch {
            return "\(error)"
        }
    }

    package nonisolated static func noServer(in path: String) -> String {
        "\(path) has no usable nameserver"
    }

    package func update() {
        var text = ""
        let former = fault
        do throws(FileFault) {
            text = try ResolverFiles.read(path)
            fault = nil
        } catch {
            fault = "\(error)"
        }
        if let fault, fault != former {
            report(
                """
                network resolvers: \(fault); until this is corrected, the upstream has no server
                """
            )
        }
        let (entry, unreadable) = LinkResolvers.reading(resolvConf: text, .file, link: "")
        for line in unreadable where reported.count < Self.maximumReports {
            guard reported.insert(line).inserted else { continue }
            report("network resolvers: \(path): cannot read `\(line)`, ignoring the line")
        }
        let servers = entry.servers.filter { !isOwn($0.address) }
        guard servers != latest || fault != former else { return }
        latest = servers
        handler(servers, fault)
    }
}

extension SocketAddress {
    /// True for all addresses of this machine, and for multicast, broadcast and reserved addresses.
    package var isOwn: Bool {
        if isOfThisHost || octets[0] >= (isIPv6 ? 0xFF : 224) { return true }
        return SocketAddress.source(towards: self)?.octets == octets
    }
    /// True for loopback and unspecified addresses.
    ///
    /// Does not look up a route, because `::1` has no route if IPv6 is disabled.
    var isOfThisHost: Bool {
        if isUnspecified { return true }
        guard isIPv6 else { return octets[0] == 127 }
        let isMapped = octets[..<10].allSatisfy { $0 == 0 } && octets[10] & octets[11] == 0xFF
        return isMapped
            ? octets[12] == 127 || octets[12...].allSatisfy { $0 == 0 }
            : octets.dropLast().allSatisfy { $0 == 0 } && octets.last == 1
    }
}
