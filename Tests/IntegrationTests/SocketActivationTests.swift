// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private struct HeldSockets {
    let datagram: Socket
    let stream: Socket
    let port: UInt16

    var all: [Socket] { [datagram, stream] }

    init() throws {
        port = try freePort()
        datagram = try Socket(.datagram, bound: true, port: port)
        stream = try Socket(.stream, bound: true, port: port)
        try stream.listen()
    }
}

/// Client with a constant number of pending queries, without retries.
private final class SteadyClient: @unchecked Sendable {
    private static let window = 50

    private let socket: Socket

    // SAFETY: these properties are used only while `changes` is locked.
    private let changes = NSCondition()
    private var sent = 0
    private var answered: Set<Int> = []
    private var isEnding = false
    private var failure: (any Error)?
    private var hasEnded = false

    init(port: UInt16) throws {
        socket = try Socket(.datagram, to: port)
        Thread.detachNewThread { [self] in
            do {
                try run()
            } catch {
                changes.withLock { failure = error }
            }
            changes.withLock {
                hasEnded = true
                changes.broadcast()
            }
        }
    }

    func wait(for count: Int) {
        changes.lock()
        defer { changes.unlock() }
        let goal = answered.count + count
        while answered.count < goal, !hasEnded { changes.wait() }
    }

    func finish() throws -> (sent: Int, answered: Int) {
        changes.lock()
        defer { changes.unlock() }
        isEnding = true
        while !hasEnded { changes.wait() }
        if let failure { throw failure }
        return (sent, answered.count)
    }

    private func ask(_ number: Int) throws {
        let name = ["localhost", "three.example.org", "n\(number).example.org"][number % 3]
        try socket.send(RawMessage.query(name, id: UInt16(truncatingIfNeeded: number)))
    }

    private func run() throws {
        for number in 0..<Self.window { try ask(number) }
        changes.withLock { sent = Self.window }
        while true {
            let goal: Int? = changes.withLock {
                if !isEnding { sent += 1 }
                return isEnding ? nil : sent - 1
            }
            if let goal { try ask(goal) }
            if changes.withLock({ isEnding && answered.count == sent }) { return }
            let reply: [UInt8]
            do {
                reply = try socket.receive()
            } catch {
                if changes.withLock({ isEnding }) { return }
                throw error
            }
            #expect(RawMessage.rcode(reply) != 2)
            changes.withLock {
                var number = (sent - 1) & ~0xFFFF | Int(RawMessage.id(reply))
                if number >= sent { number -= 0x1_0000 }
                answered.insert(number)
                changes.broadcast()
            }
        }
    }
}

/// True if port 53 needs CAP_NET_BIND_SERVICE.
private let portsAreLimited: Bool = {
    let file = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
    let text = try? String(contentsOfFile: file, encoding: .utf8)
    return (text.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0) > 53
}()

@Suite("Sockets passed by systemd", .needs(.nsd), .hangLimit)
struct SocketActivationTests {
    @Test("with sockets from systemd, restarts lose no UDP query and no TCP connection")
    func restarts() throws {
        let upstream = try TestUpstream()
        let sockets = try HeldSockets()
        let address = "127.0.0.1:\(sockets.port)"
        var daemon = try TestDaemon(upstream.text, listen: address, passing: sockets.all)
        let client = try SteadyClient(port: sockets.port)
        for _ in 0..<5 {
            client.wait(for: 500)
            try daemon.stop()
            let stream = try Socket(.stream, to: sockets.port)
            let query = RawMessage.query("three.example.org", id: 77)
            try stream.send([0, UInt8(query.count)] + query)
            daemon = try TestDaemon(upstream.text, listen: address, passing: sockets.all)
            let reply = try stream.receive()
            #expect(reply.count > 2 && RawMessage.id(Array(reply.dropFirst(2))) == 77)
        }
        client.wait(for: 500)
        let (sent, answered) = try client.finish()
        #expect(sent >= 3000)
        #expect(answered == sent)
        try daemon.stop()
    }

    @Test("`status` shows which sockets are from systemd, even if `listen` omits their addresses")
    func origins() throws {
        let passed = try HeldSockets()
        let daemon = try TestDaemon(unusedUpstream, listen: "127.0.0.1:0", passing: passed.all)
        let status = try JSON(try daemon.control("status", "--json").output)
        let origins = status["listeners"].array.map {
            "\($0["address"].string ?? "") \($0["origin"].string ?? "")"
        }
        #expect(
            Set(origins) == [
                "127.0.0.1:\(daemon.port) settings",
                "127.0.0.1:\(passed.port) socket-activation",
            ]
        )
        _ = try daemon.program.line(
            with: "serving 127.0.0.1:\(passed.port), which is in the socket unit"
        )
        for port in [daemon.port, passed.port] {
            let client = try Socket(.datagram, to: port)
            try client.send(RawMessage.query("localhost", id: 9))
            #expect(RawMessage.id(try client.receive()) == 9)
        }
        try daemon.rewrite(
            "upstreams: [{name: own, url: \"udp://127.0.0.1:\(passed.port)\"}]",
            listen: "127.0.0.1:0"
        )
        for verb in ["check", "reload"] {
            let refused = try daemon.control(verb)
            #expect(refused.status == 1 && refused.errors.contains("is httpdnsd itself"), "\(verb)")
        }
        try daemon.stop()
    }

    @Test("if systemd passes only a UDP socket, the daemon binds the TCP socket")
    func half() throws {
        let port = try freePort()
        let datagram = try Socket(.datagram, bound: true, port: port)
        let daemon = try TestDaemon(
            unusedUpstream,
            listen: "127.0.0.1:\(port)",
            passing: [datagram]
        )
        let stream = try Socket(.stream, to: port)
        let query = RawMessage.query("localhost", id: 78)
        try stream.send([0, UInt8(query.count)] + query)
        #expect(try stream.receive().count > query.count)
        try daemon.stop()
    }

    @Test("the daemon reads all UDP sockets that systemd passes for one address")
    func several() throws {
        let port = try freePort()
        let datagrams = try (0..<3).map { _ in try Socket(sharing: port) }
        let daemon = try TestDaemon(unusedUpstream, listen: "127.0.0.1:\(port)", passing: datagrams)
        // The kernel selects one of the three sockets by the client's port. So 60 clients miss a
        // given socket only with the probability (2/3)^60.
        for number in 0..<60 {
            let client = try Socket(.datagram, to: port)
            try client.send(RawMessage.query("localhost", id: UInt16(number)))
            #expect(RawMessage.id(try client.receive()) == UInt16(number))
        }
        try daemon.stop()
    }

    @Test("if the daemon cannot serve a socket that systemd passes, it does not start")
    func unusable() throws {
        let deaf = try Socket(.stream, bound: true)
        let scratch = try Scratch()
        let file = try scratch.write(
            "listen: [\"127.0.0.1:0\"]\ncontrol: {socket: \(scratch.file("c"))}\n\(unusedUpstream)",
            to: "httpdnsd.yaml"
        )
        let end = try Child(Product.daemon, ["--config", file], passing: [deaf]).end()
        #expect(end.status == 78)
        #expect(end.errors.contains("the socket `dns` from systemd does not listen"))
    }

    @Test("if a listen address conflicts with a socket from systemd, the daemon does not start")
    func rivals() throws {
        let sockets = try HeldSockets()
        let scratch = try Scratch()
        let file = try scratch.write(
            """
            listen: ["0.0.0.0:\(sockets.port)"]
            allow: ["127.0.0.0/8"]
            control: {socket: \(scratch.file("c"))}
            \(unusedUpstream)
            """,
            to: "httpdnsd.yaml"
        )
        let end = try Child(Product.daemon, ["--config", file], passing: sockets.all).end()
        #expect(end.status == 78)
        #expect(end.errors.contains("systemd listens on 127.0.0.1:\(sockets.port) for this"))
    }

    @Test("`check` reports each address on which a reload cannot listen, and keeps no socket open")
    func check() throws {
        let sockets = try HeldSockets()
        let other = try HeldSockets()
        let address = "127.0.0.1:\(sockets.port)"
        let daemon = try TestDaemon(unusedUpstream, listen: address, passing: sockets.all)
        let metrics = "\nmetrics: {listen: \"127.0.0.1:\(other.port)\"}"
        for (listen, more, error) in [
            ("0.0.0.0:\(sockets.port)", "", "systemd listens on \(address) for this service"),
            ("127.0.0.1:\(other.port)", "", "127.0.0.1:\(other.port): address already in use"),
            (address, metrics, "serve metrics at 127.0.0.1:\(other.port): address already in use"),
        ] {
            try daemon.rewrite("\(unusedUpstream)\nallow: [127.0.0.0/8]\(more)", listen: listen)
            for verb in ["check", "reload"] {
                let end = try daemon.control(verb)
                #expect(end.status == 1 && end.errors.contains(error), "\(verb): \(end)")
            }
        }
        try daemon.rewrite(unusedUpstream, listen: address, "127.0.0.1:\(try freePort())")
        for verb in ["check", "check", "reload"] {
            let end = try daemon.control(verb)
            #expect(end.status == 0 && end.output.contains("+ listen"), "\(verb): \(end)")
        }
        try daemon.stop()
    }

    @Test(
        "without the right to bind port 53, a reload skips default addresses, but no other address",
        .needs(.unshare),
        .enabled(if: portsAreLimited)
    )
    func unprivileged() throws {
        let sockets = try HeldSockets()
        let scratch = try Scratch()
        func write(_ listen: String) throws -> String {
            try scratch.write(
                "\(listen)\ncontrol: {socket: \(scratch.file("c"))}\n\(unusedUpstream)",
                to: "httpdnsd.yaml"
            )
        }
        func control(_ verb: String) throws -> Child.End {
            try run(Product.control, ["--socket", scratch.file("c"), verb])
        }
        let bounded = ["--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"]
        let command =
            (geteuid() == 0 ? bounded : ["--no-new-privs"])
            + [Product.daemon, "--config", try write("")]
        let daemon = try Child("setpriv", command, passing: sockets.all)
        _ = try daemon.line(with: "not listening on 127.0.0.1:53")
        _ = try daemon.line(with: "answering on ")
        // The daemon has no socket for 127.0.0.1:53, as if the socket unit had failed. But this
        // address is in the default of `listen`, and in the second setting below.
        let address = "127.0.0.1:\(sockets.port)"
        for listen in ["", "listen: [\"\(address)\", \"127.0.0.1:53\", \"[::1]:53\"]"] {
            _ = try write(listen)
            for verb in ["check", "reload"] {
                let end = try control(verb)
                #expect(end.status == 0, "\(end)")
                let warning = "not listening on 127.0.0.1:53: "
                #expect(end.output.contains(warning), "\(end)")
                #expect(end.output.contains("`systemctl status httpdnsd.socket`"), "\(end)")
            }
        }
        _ = try write("listen: [\"127.0.0.9:53\"]")
        for verb in ["check", "reload"] {
            let end = try control(verb)
            #expect(end.status == 1, "\(end)")
            #expect(end.errors.contains("cannot listen on 127.0.0.9:53: no permission"), "\(end)")
        }
        #expect(try daemon.stop().status == 0)
        _ = try write("listen: [\"\(address)\", \"[::1]:53\"]")
        let restarted = try Child("setpriv", command, passing: sockets.all)
        _ = try restarted.line(with: "not listening on [::1]:53")
        _ = try restarted.line(with: "answering on \(address), version")
        #expect(try restarted.stop().status == 0)
    }

    @Test(
        "a default address that another program uses is skipped if systemd passes another address",
        .enabled(if: Namespace.isPossible)
    )
    func usedDefaultAddress() throws {
        let network = try Namespace()
        let scratch = try Scratch()
        func command(_ name: String, _ listen: String) throws -> (String, [String]) {
            let text = "listen: [\(listen)]\ncontrol: {socket: \(scratch.file(name))}\n"
            let file = try scratch.write(text + unusedUpstream, to: "\(name).yaml")
            return network.command(Product.daemon, ["--config", file])
        }
        let (program, words) = try command("other", "\"[::1]:53\"")
        let other = try Child(program, words)
        _ = try other.line(with: "answering on ")
        let sockets = try HeldSockets()
        let address = "127.0.0.1:\(sockets.port)"
        let listen = "\"\(address)\", \"[::1]:53\""
        let tested = try Child(program, command("tested", listen).1, passing: sockets.all)
        _ = try tested.line(with: "not listening on [::1]:53: ")
        _ = try tested.line(with: "answering on \(address), version")
        #expect(try tested.stop().status == 0)
        #expect(try other.stop().status == 0)
    }

    @Test("systemd-socket-activate starts the daemon with the first query", .needs(.systemd))
    func systemd() throws {
        let port = try freePort()
        let scratch = try Scratch()
        let file = try scratch.write(
            "listen: [\"127.0.0.1:\(port)\"]\ncontrol: {socket: \(scratch.file("c"))}\n\(unusedUpstream)",
            to: "httpdnsd.yaml"
        )
        let program = try Child(
            "systemd-socket-activate",
            ["--datagram", "--listen=127.0.0.1:\(port)", Product.daemon, "--config", file]
        )
        _ = try program.line(with: "Listening on")
        let client = try Socket(.datagram, to: port)
        try client.send(RawMessage.query("localhost", id: 10))
        #expect(RawMessage.id(try client.receive()) == 10)
        #expect(try program.stop().status == 0)
    }
}
