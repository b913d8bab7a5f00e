// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestWorld
import Testing

@testable import Net

@Suite("HTTP request timeouts", .timeLimit(.minutes(15)))
struct HTTPTimeoutTests {
    @ServiceLoop
    @Test
    func `a timeout closes no socket that the completion handler has opened`() async throws {
        let silent = try ListeningSocket()
        let client = HTTPClient()
        let request = HTTPRequest(url: "http://vendor.example.com/", server: silent.address)
        var sockets: [DatagramClient] = []
        let waiter = Waiter()
        _ = client.send(request, deadline: Clock.now + .milliseconds(50)) { _ in
            while sockets.count < 64,
                let socket = try? DatagramClient(connectedTo: silent.address)
            {
                sockets.append(socket)
            }
            waiter.resume(.ready)
        }
        _ = await waiter.wait(until: nil)
        #expect(sockets.count == 64)
        for socket in sockets {
            #expect(throws: Never.self) { try socket.send([1]) }
        }
    }

    @ServiceLoop
    @Test(arguments: [(true, true), (true, false), (false, true)])
    func `a timeout counts against the reused connection, unless part of a billed reply arrived`(
        isSentOnce: Bool,
        isAlive: Bool
    ) async throws {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let client = HTTPClient()
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(listener.localAddress)
        )
        request.isSentOnce = isSentOnce
        let first = ServiceLoop.throwingTask { [request] in
            try await client.send(request, deadline: patience)
        }
        let connection = try await listener.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
        try await connection.write(Array(reply.utf8), deadline: patience)
        _ = try await first.value
        var error: HTTPError?
        let ended = Waiter()
        client.send(request, deadline: Clock.now + .seconds(1)) {
            if case .failure(let failure) = $0 { error = failure }
            ended.resume(.ready)
        }
        _ = try await connection.read(upTo: 1000, deadline: patience)
        if isAlive { try await connection.write(Array("HTTP/1.1 200 ".utf8), deadline: patience) }
        _ = await ended.wait(until: patience)
        #expect(error == .timedOut(reused: !(isSentOnce && isAlive)))
    }

    @ServiceLoop
    @Test(arguments: [true, false])
    func `a reply on a new connection closes older connections that sent no data in the meantime`(
        isSilent: Bool
    ) async throws {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let client = HTTPClient()
        var request = HTTPRequest(
            url: "http://upstream.example.com/",
            server: try #require(listener.localAddress)
        )
        request.keepsSilentConnection = true
        func send() -> Task<HTTPReply, any Error> {
            ServiceLoop.throwingTask { [request] in
                try await client.send(request, deadline: patience)
            }
        }
        func accept() async throws -> StreamConnection {
            let connection = try await listener.accept()
            _ = try await connection.read(upTo: 1000, deadline: patience)
            return connection
        }
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1".utf8)
        let first = send()
        let old = try await accept()
        try await old.write(reply, deadline: patience)
        _ = try await first.value
        let second = isSilent ? nil : send()
        if !isSilent { _ = try await old.read(upTo: 1000, deadline: patience) }
        request.wantsFreshConnection = true
        let third = send()
        let new = try await accept()
        if let second {
            try await old.write(reply, deadline: patience)
            #expect(try await second.value.connectionReused)
        }
        try await new.write(reply, deadline: patience)
        #expect(try await !third.value.connectionReused)
        let end = isSilent ? patience : Clock.now + .milliseconds(50)
        let octets = try? await old.read(upTo: 1000, deadline: end)
        #expect(octets == (isSilent ? [] : nil))
    }

    @ServiceLoop
    @Test
    func `a TLS handshake is limited only by the deadline of the request`() async throws {
        let nginx = try Nginx()
        let client = HTTPClient()
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/hello",
            server: nginx.secure
        )
        request.certificateFile = nginx.authorityFile
        let first = HTTPRequest(url: "http://vendor.example.com/hello", server: nginx.clear)
        _ = try await client.send(first, deadline: patience)
        let (early, end) = (Waiter(), Waiter())
        var result: Result<HTTPReply, HTTPError>?
        await nginx.whileSilent {
            client.send(request, deadline: patience) {
                result = $0
                early.resume(.ready)
                end.resume(.ready)
            }
            // Waits longer than the kernel waits before it repeats a lost SYN (1 s, RFC 6298 §2).
            let outcome = await early.wait(until: Clock.now + .milliseconds(1_100))
            #expect(outcome == .timedOut, "it ended before: \(String(describing: result))")
        }
        _ = await end.wait(until: patience)
        #expect(try result?.get().status == 200)
    }

    @ServiceLoop
    @Test
    func `a connection with a slow handshake stays open for all requests that waited for it`()
        async throws
    {
        for seconds in [2, 4, 8, 16] {
            let gate = DispatchSemaphore(value: 0)
            let server = try FloodServer(.pings, after: gate)
            let client = HTTPClient()
            var request = HTTPRequest(
                url: "https://\(Certificates.name)/",
                server: server.address
            )
            request.certificateFile = server.certificate.authorityFile
            var errors: [HTTPError] = []
            let (middle, end) = (Waiter(), Waiter())
            let start = Clock.now
            let handles = (0..<2).map { _ in
                client.send(request, deadline: start + .seconds(seconds)) {
                    if case .failure(let error) = $0 { errors.append(error) }
                    if errors.count == 2 { end.resume(.ready) }
                }
            }
            _ = await middle.wait(until: start + .seconds(seconds) * 0.6)
            gate.signal()
            _ = await end.wait(until: patience)
            guard handles.allSatisfy(\.wasSent) else { continue }
            var third: HTTPError?
            do throws(HTTPError) {
                _ = try await client.send(request, deadline: Clock.now + .milliseconds(500))
            } catch {
                third = error
            }
            #expect(third == .timedOut(reused: true))
            return
        }
        Issue.record("the handshake did not end in time")
    }

    @ServiceLoop
    @Test(arguments: [("http", true), ("https", false)])
    func `a request counts as sent when its connection is established, including TLS`(
        scheme: String,
        isSent: Bool
    ) async throws {
        let silent = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let client = HTTPClient()
        let request = HTTPRequest(
            url: "\(scheme)://vendor.example.com/",
            server: try #require(silent.localAddress)
        )
        let waiter = Waiter()
        let handle = client.send(request, deadline: patience) { _ in waiter.resume(.ready) }
        let connection = try await silent.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        handle.cancel()
        _ = await waiter.wait(until: nil)
        #expect(handle.wasSent == isSent)
    }

    @ServiceLoop
    @Test
    func `a request that waits for a proxy tunnel does not count as sent`() async throws {
        let proxy = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let client = HTTPClient()
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(SocketAddress("192.0.2.7:80"))
        )
        request.proxy = proxy.localAddress
        let handle = client.send(request, deadline: patience) { _ in }
        let connection = try await proxy.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        handle.cancel()
        #expect(!handle.wasSent)
    }
}
