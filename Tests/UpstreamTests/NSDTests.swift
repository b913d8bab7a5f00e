// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Net
import Testing

@testable import Upstream

private final class NSD: Sendable {
    static let path = "/usr/sbin/nsd"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)

    static let isRequired = ProcessInfo.processInfo.environment["CI"] == "true"

    let address: SocketAddress
    private let pid: pid_t
    private let directory: URL

    private static let zone = """
        $ORIGIN example.com.
        $TTL 300
        @ IN SOA ns hostmaster 1 7200 900 1209600 60
        @ IN NS ns
        ns IN A 192.0.2.53
        www IN A 192.0.2.80
        www IN AAAA 2001:db8::80
        alias IN CNAME www
        @ IN MX 10 mail

        """
        + (0..<80).map { "big IN TXT \"\($0) \(String(repeating: "x", count: 60))\"\n" }.joined()

    init(port: UInt16) throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("nsd-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.path
        try Self.zone.write(toFile: path + "/zone", atomically: false, encoding: .utf8)
        try """
        server:
          ip-address: 127.0.0.1
          port: \(port)
          server-count: 1
          do-ip6: no
          username: ""
          zonesdir: "\(path)"
          pidfile: ""
          xfrdfile: "\(path)/xfrd"
          zonelistfile: "\(path)/zones"
          xfrdir: "\(path)"
        remote-control:
          control-enable: no
        zone:
          name: example.com
          zonefile: zone
        """.write(toFile: path + "/conf", atomically: false, encoding: .utf8)
        address = try #require(SocketAddress("127.0.0.1:\(port)"))
        let errors = Pipe()
        pid = try Self.spawn(
            [Self.path, "-d", "-c", path + "/conf"],
            errors: errors.fileHandleForWriting.fileDescriptor
        )
        try errors.fileHandleForWriting.close()
        var log = ""
        while !log.contains("nsd started") {
            let more = errors.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Failure(log: log) }
            log += String(decoding: more, as: UTF8.self)
        }
    }

    /// Starts NSD without blocked signals, because NSD needs SIGCHLD.
    private static func spawn(_ arguments: [String], errors: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let argv = arguments.map { strdup($0) } + [nil]
        defer { for text in argv { free(text) } }
        var pid = pid_t()
        let error = posix_spawn(&pid, arguments[0], &actions, &attributes, argv, [nil])
        guard error == 0 else { throw Failure(log: String(cString: strerror(error))) }
        return pid
    }

    deinit {
        kill(pid, SIGTERM)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        try? FileManager.default.removeItem(at: directory)
    }

    struct Failure: Error {
        let log: String
    }

    @ServiceLoop
    static func start() throws -> NSD {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        var failure: (any Error)?
        for _ in 0..<5 {
            // Another process may take this port before NSD binds it.
            let port = try DatagramListener(binding: any, shared: false).address.port
            do { return try NSD(port: port) } catch { failure = error }
        }
        throw try #require(failure)
    }
}

@Suite("An upstream that is a real server", .timeLimit(.minutes(15)))
struct NSDTests {
    @Test(.enabled(if: NSD.isInstalled || NSD.isRequired, "needs Debian's nsd"))
    @ServiceLoop
    func `NSD returns answers, aliases, negative answers, REFUSED and long answers`() async throws {
        let server = try NSD.start()
        let upstream = Forwarder(
            name: "nsd",
            url: "udp://\(server.address)",
            timeout: .seconds(5),
            over: PlainTransport(to: server.address)
        )
        func ask(_ name: Name, _ type: RecordType, dnssecOK: Bool = false) async throws -> Message {
            try await upstream.exchange(
                Query(
                    question: Question(name: name, type: type),
                    dnssecOK: dnssecOK,
                    checkingDisabled: true
                ),
                deadline: Clock.now + .seconds(300)
            )
        }

        let answer = try await ask("www.example.com", .a)
        #expect(answer.answers.map(\.data) == [.a(IPv4Address(value: 0xC000_0250))])
        #expect(answer.rcode == .noError)
        let alias = try await ask("alias.example.com", .aaaa, dnssecOK: true)
        #expect(alias.answers.map(\.type) == [.cname, .aaaa])

        let nxDomain = try await ask("nowhere.example.com", .a)
        #expect(nxDomain.rcode == .nxDomain)
        #expect(nxDomain.authorities.map(\.type) == [.soa])
        let noData = try await ask("ns.example.com", .aaaa)
        #expect(noData.rcode == .noError)
        #expect(noData.answers.isEmpty)
        #expect(upstream.numbers.tcpRetries == 0)

        let long = try await ask("big.example.com", .txt)
        #expect(long.answers.count == 80)
        #expect(!long.header.isTruncated)
        #expect(upstream.numbers.tcpRetries == 1)

        await #expect(throws: UpstreamError.declined(.refused, because: .notAuthoritative)) {
            try await ask("www.example.org", .a)
        }
        #expect(upstream.numbers.queries == 6)
        #expect(upstream.numbers.successes == 5)
        #expect(upstream.numbers.failures == ["declined": 1])
        #expect(upstream.numbers.foreignReplies == 0)
    }
}
