// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("HTTP client", .timeLimit(.minutes(15)))
struct HTTPClientTests {
    let nginx: Nginx
    let client: HTTPClient

    init() async throws {
        nginx = try Nginx()
        client = await HTTPClient()
    }

    func clear(_ path: String) -> HTTPRequest {
        HTTPRequest(url: "http://vendor.example.com\(path)", server: nginx.clear)
    }

    func secure(_ path: String, host: String = Certificates.name) -> HTTPRequest {
        var request = HTTPRequest(url: "https://\(host)\(path)", server: nginx.secure)
        request.certificateFile = nginx.authorityFile
        return request
    }

    @ServiceLoop
    @Test
    func `the host header is the URL's host, and the connection goes to the given address`()
        async throws
    {
        let reply = try await client.send(clear("/hello"), deadline: patience)
        #expect(reply.status == 200)
        #expect(reply.text == "hello vendor.example.com HTTP/1.1")
        #expect(reply.version == "1.1")
        #expect(reply.date?.hasSuffix("GMT") == true)
        #expect(reply.duration > .zero)
    }

    @ServiceLoop
    @Test
    func `a second HTTP 1 request reuses the connection of the first`() async throws {
        let first = try await client.send(clear("/hello"), deadline: patience)
        let second = try await client.send(clear("/hello"), deadline: patience)
        #expect(!first.connectionReused)
        #expect(second.connectionReused)
        #expect(client.connectionsOpened == 1)
    }

    @ServiceLoop
    @Test
    func `a connection that the server closed while idle is not reused`()
        async throws
    {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(listener.localAddress)
        )
        for number in 1...3 {
            let task = ServiceLoop.throwingTask { [client] in
                try await client.send(request, deadline: patience)
            }
            let connection = try await listener.accept()
            _ = try await connection.read(upTo: 1000, deadline: patience)
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)"
            try await connection.write(Array(reply.utf8), deadline: patience)
            #expect(try await task.value.text == "\(number)")
            connection.close()
        }
        #expect(client.connectionsOpened == 3)
    }

    /// With a reused handle, libcurl before 8.1.0 writes to freed memory for a folded first header.
    @ServiceLoop
    @Test
    func `a blank at the start of the first header line causes no crash`() async throws {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(listener.localAddress)
        )
        ServiceLoop.task {
            var number = 0
            while let connection = try? await listener.accept() {
                while let octets = try? await connection.read(upTo: 1000, deadline: patience),
                    !octets.isEmpty
                {
                    number += 1
                    let first =
                        number % 4 == 3 ? " \(String(repeating: "x", count: number)): y\r\n" : ""
                    let more = "X-\(number): \(String(repeating: "z", count: number * 9))\r\n"
                    let reply = "HTTP/1.1 200 OK\r\n\(first)\(more)Content-Length: 1\r\n\r\n1"
                    try? await connection.write(Array(reply.utf8), deadline: patience)
                }
            }
        }
        var count = 0
        for _ in 0..<40 {
            let reply = try? await client.send(request, deadline: patience)
            if reply?.text == "1" { count += 1 }
        }
        #expect(count >= 30)
        listener.close()
    }

    /// libcurl assumes 100 streams per connection until it receives the server's SETTINGS.
    @ServiceLoop
    @Test
    func `a hundred concurrent HTTP 2 requests share one connection`() async throws {
        let request = secure("/hello")
        let replies = try await withThrowingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask { [client] in try await client.send(request, deadline: patience) }
            }
            var replies: [HTTPReply] = []
            for try await reply in group { replies.append(reply) }
            return replies
        }
        #expect(replies.count == 100)
        #expect(replies.allSatisfy { $0.version == "2" && $0.status == 200 })
        #expect(client.connectionsOpened == 1)
        #expect(client.inFlight == 0)
    }

    @ServiceLoop
    @Test
    func `HTTP 1 over TLS is used if the request demands it`() async throws {
        var request = secure("/hello")
        request.version = .http1
        #expect(try await client.send(request, deadline: patience).version == "1.1")
    }

    @ServiceLoop
    @Test
    func `a certificate for an IP address is valid for a URL with that address`() async throws {
        let reply = try await client.send(
            secure("/hello", host: Certificates.address),
            deadline: patience
        )
        #expect(reply.status == 200)
    }

    @ServiceLoop
    @Test
    func `the CPU time of a failed TLS handshake is charged to the provider`() async throws {
        _ = try await client.send(secure("/hello"), deadline: patience)
        let earned = try #require(client.providers[""]?.meter.budget.level)
        #expect(earned <= .zero)
        var request = secure("/hello", host: "other.example.com")
        request.provider = "other"
        _ = await failure(of: request)
        #expect(try #require(client.providers["other"]?.meter.budget.level) > .zero)
    }

    @ServiceLoop
    @Test(arguments: HTTPVersion.allCases.filter { $0 != .http3 })
    func `CPU time of a handshake counts toward the limit if the connection ends without a reply`(
        version: HTTPVersion
    ) async throws {
        var request = secure("/close")
        request.version = version
        _ = await failure(of: request)
        #expect(try #require(client.providers[""]?.meter.budget.level) > .zero)
    }

    @ServiceLoop
    @Test
    func `no CPU time is charged if a reused connection ends without a reply`() async throws {
        _ = try await client.send(secure("/hello"), deadline: patience)
        let earned = try #require(client.providers[""]?.meter.budget.level)
        #expect(earned < .zero)
        var request = secure("/close")
        request.isSentOnce = true
        #expect(await failure(of: request) != nil)
        #expect(try #require(client.providers[""]?.meter.budget.level) <= .zero)
    }

    @ServiceLoop
    @Test(arguments: ["other.example.com", "192.0.2.8", "not-looked-at.example.com"])
    func `a certificate for another name is rejected`(host: String) async throws {
        let error = await failure(of: secure("/hello", host: host))
        guard case .tls(let words) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(words.contains("subject name"))
    }

    @ServiceLoop
    @Test
    func `a certificate of an unknown authority is rejected`() async throws {
        var request = secure("/hello")
        request.certificateFile = nil
        guard case .tls = await failure(of: request) else {
            Issue.record("accepted a certificate of an untrusted authority")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a missing CA file is an invalid request`() async throws {
        var request = secure("/hello")
        request.certificateFile = "/nonexistent/ca.pem"
        guard case .invalidRequest = await failure(of: request) else {
            Issue.record("continued without CA certificates")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a request to a port without a listener fails with a refused connection`() async throws {
        let closed = try ListeningSocket(listens: false)
        let request = HTTPRequest(url: "http://vendor.example.com/", server: closed.address)
        #expect(await failure(of: request) == .connect("Connection refused"))
    }

    @ServiceLoop
    @Test
    func `a request to an unresponsive server ends at its deadline`() async throws {
        let silent = try ListeningSocket()
        let request = HTTPRequest(url: "http://vendor.example.com/", server: silent.address)
        let start = Clock.now
        let error = await failure(of: request, deadline: start + .milliseconds(50))
        #expect(error == .timedOut(reused: false))
        #expect(Clock.now >= start + .milliseconds(50))
    }

    @ServiceLoop
    @Test
    func `a name without a reply does not close the connection of other names`() async throws {
        var fresh = secure("/hello")
        fresh.wantsFreshConnection = true
        for _ in 0..<3 {
            #expect(try await client.send(secure("/hello"), deadline: patience).version == "2")
            let end = Clock.now + .milliseconds(100)
            let tasks = (0..<2).map { _ in
                ServiceLoop.task { [self] in await failure(of: secure("/silent"), deadline: end) }
            }
            for task in tasks { #expect(await task.value == .timedOut(reused: true)) }
            #expect(try await client.send(secure("/hello"), deadline: patience).connectionReused)
            #expect(client.connectionsOpened == 1)
        }
        _ = try await client.send(fresh, deadline: patience)
        let error = await failure(of: secure("/silent"), deadline: Clock.now + .milliseconds(100))
        #expect(error == .timedOut(reused: true))
        #expect(client.connectionsOpened == 2)
    }

    @ServiceLoop
    @Test
    func `a silent connection is replaced by a new connection that replies`() async throws {
        _ = try await client.send(secure("/hello"), deadline: patience)
        let error = await nginx.whileSilent {
            await failure(of: secure("/hello"), deadline: Clock.now + .milliseconds(100))
        }
        #expect(error == .timedOut(reused: true))
        var fresh = secure("/hello")
        fresh.wantsFreshConnection = true
        _ = try await client.send(fresh, deadline: patience)
        let provider = try #require(client.providers[fresh.provider])
        let pool = try provider.group(for: secure("/hello")).pool
        let reply = try await client.send(secure("/hello"), deadline: patience)
        #expect(reply.connectionReused && client.connectionsOpened == 2)
        _ = try await client.send(fresh, deadline: patience)
        #expect(try provider.group(for: secure("/hello")).pool === pool)
    }

    @ServiceLoop
    @Test(arguments: [true, false])
    func `a distrusted connection is closed if no other request uses it`(
        isSecure: Bool
    ) async throws {
        let request = isSecure ? secure("/hello") : clear("/hello")
        for isReused in [false, true] {
            let reply = try await client.send(request, deadline: patience)
            #expect(reply.connectionReused == isReused)
        }
        let handle = await sendAndDistrust(request)
        #expect(try await !client.send(request, deadline: patience).connectionReused)
        #expect(try await client.send(request, deadline: patience).connectionReused)
        handle.distrustConnection()
        #expect(try await client.send(request, deadline: patience).connectionReused)
        #expect(client.connectionsOpened == 2)
    }

    @ServiceLoop
    @Test
    func `a connection is closed after a broken reply that left it open`() async throws {
        let error = await failure(of: secure("/encoded"))
        #expect(error == .broken("the body has a content encoding that was not requested"))
        #expect(try await client.send(secure("/hello"), deadline: patience).connectionReused)
        _ = await sendAndDistrust(secure("/encoded"))
        #expect(try await !client.send(secure("/hello"), deadline: patience).connectionReused)
    }

    @ServiceLoop
    @Test(arguments: ["/hello", "/big"], [true, false])
    func `a doubted connection stays in use until a new connection replies`(
        path: String,
        isSecure: Bool
    ) async throws {
        let request = isSecure ? secure("/hello") : clear("/hello")
        var fresh = request
        fresh.wantsFreshConnection = true
        _ = try await client.send(request, deadline: patience)
        let provider = try #require(client.providers[request.provider])
        let pool = try provider.group(for: request).pool
        for isReplaced in [false, true] {
            _ = await sendAndDistrust(isSecure ? secure(path) : clear(path), isDoubt: true)
            if !isReplaced {
                let reply = try await client.send(request, deadline: patience)
                // Without TLS, libcurl closes the connection after a too large body.
                #expect(reply.connectionReused == (isSecure || path == "/hello"))
            }
            _ = try await client.send(fresh, deadline: patience)
            let isKept = try provider.group(for: request).pool === pool
            #expect(isKept == !(isReplaced && (isSecure || path == "/hello")))
            #expect(try await client.send(request, deadline: patience).connectionReused)
        }
    }

    /// Sends a request, and distrusts or doubts the connection in the completion handler.
    @ServiceLoop
    private func sendAndDistrust(
        _ request: HTTPRequest,
        isDoubt: Bool = false
    ) async -> any RequestHandle {
        let waiter = Waiter()
        var sent: (any RequestHandle)?
        let handle = client.send(request, deadline: patience) { _ in
            if isDoubt { sent?.doubtConnection() } else { sent?.distrustConnection() }
            waiter.resume(.ready)
        }
        sent = handle
        _ = await waiter.wait(until: patience)
        return handle
    }

    @ServiceLoop
    @Test
    func `requests after a replacement use new connections, and requests in flight continue`()
        async throws
    {
        let request = secure("/hello")
        _ = try await client.send(request, deadline: patience)
        let silent = ServiceLoop.task { await failure(of: secure("/silent"), deadline: patience) }
        await Task.yield()
        client.replaceConnections(of: request.provider)
        #expect(try await !client.send(request, deadline: patience).connectionReused)
        #expect(try await client.send(request, deadline: patience).connectionReused)
        client.reset()
        #expect(await silent.value == .broken("the connections were dropped"))
    }

    @ServiceLoop
    @Test
    func `a distrusted connection that other requests use is replaced`() async throws {
        let request = secure("/hello")
        _ = try await client.send(request, deadline: patience)
        let silent = ServiceLoop.task { await failure(of: secure("/silent"), deadline: patience) }
        _ = await sendAndDistrust(request)
        #expect(try await client.send(request, deadline: patience).connectionReused)
        var fresh = request
        fresh.wantsFreshConnection = true
        let provider = try #require(client.providers[request.provider])
        let pool = try provider.group(for: request).pool
        _ = try await client.send(fresh, deadline: patience)
        #expect(try provider.group(for: request).pool !== pool)
        #expect(try await client.send(request, deadline: patience).connectionReused)
        client.reset()
        _ = await silent.value
    }

    @ServiceLoop
    @Test
    func `the timeout of a request does not end the other requests of its connection`() async throws
    {
        var request = secure("/hello")
        request.isSentOnce = true
        _ = try await client.send(request, deadline: patience)
        let (other, _) = await nginx.whileSilent {
            let other = ServiceLoop.throwingTask { [client, request] in
                try await client.send(request, deadline: patience)
            }
            let error = await failure(of: request, deadline: Clock.now + .milliseconds(100))
            #expect(error == .timedOut(reused: true))
            return (other, error)
        }
        #expect(try await other.value.connectionReused)
        let reply = try await client.send(request, deadline: patience)
        #expect(reply.connectionReused)
        #expect(client.connectionsOpened == 1)
    }

    @ServiceLoop
    @Test
    func `a reset also ends the requests of a silent connection`() async throws {
        let request = secure("/hello")
        var other = request
        other.wantsFreshConnection = true
        _ = try await client.send(request, deadline: patience)
        await nginx.whileSilent {
            let tasks = [0, 1].map { _ in
                Task { @ServiceLoop in await failure(of: request) }
            }
            _ = await failure(of: request, deadline: Clock.now + .milliseconds(100))
            let fresh = Task { @ServiceLoop [other] in await failure(of: other) }
            while client.inFlight < 3 { await Task.yield() }
            client.reset()
            for task in tasks + [fresh] {
                #expect(await task.value == .broken("the connections were dropped"))
            }
        }
    }

    @ServiceLoop
    @Test
    func `a silent connection can be kept until another connection has replied`() async throws {
        var request = secure("/hello")
        request.keepsSilentConnection = true
        _ = try await client.send(request, deadline: patience)
        let error = await nginx.whileSilent {
            await failure(of: request, deadline: Clock.now + .milliseconds(100))
        }
        #expect(error == .timedOut(reused: true))
        #expect(try await client.send(request, deadline: patience).connectionReused)
        _ = await nginx.whileSilent {
            await failure(of: request, deadline: Clock.now + .milliseconds(100))
        }
        request.wantsFreshConnection = true
        _ = try await client.send(request, deadline: patience)
        #expect(client.connectionsOpened == 2)
        request.wantsFreshConnection = false
        #expect(try await client.send(request, deadline: patience).connectionReused)
    }

    @ServiceLoop
    @Test
    func `a body that exceeds the send buffer is sent when a stopped server continues`()
        async throws
    {
        var request = secure("/post")
        request.version = .http1
        _ = try await client.send(request, deadline: patience)
        request.body = [UInt8](repeating: 7, count: 12 << 20)
        let reply = await nginx.whileSilent {
            let reply = ServiceLoop.throwingTask { [client, request] in
                try await client.send(request, deadline: patience)
            }
            let error = await failure(of: clear("/hello"), deadline: Clock.now + .milliseconds(200))
            #expect(error == .timedOut(reused: false))
            return reply
        }
        #expect(try await reply.value.text.hasPrefix("POST \(12 << 20)"))
    }

    @ServiceLoop
    @Test
    func `a request with a deadline in the past is not sent`() async throws {
        let error = await failure(of: clear("/hello"), deadline: Clock.now)
        #expect(error == .timedOut(reused: false))
        #expect(client.connectionsOpened == 0)
    }

    @ServiceLoop
    @Test(arguments: [true, false])
    func `a body beyond the limit aborts the transfer`(overTLS: Bool) async throws {
        let request = overTLS ? secure("/big") : clear("/big")
        #expect(await failure(of: request) == .bodyTooLarge(limit: 64 << 10))
        #expect(try await client.send(secure("/hello"), deadline: patience).status == 200)
    }

    @ServiceLoop
    @Test
    func `headers beyond the limit abort the transfer`() async throws {
        guard case .broken = await failure(of: clear("/headers")) else {
            Issue.record("accepted 18 KB of headers")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a reply that is not HTTP is an error of the server, not of the request`() async throws {
        let server = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(server.localAddress)
        )
        let task = Task { @ServiceLoop in await failure(of: request) }
        let connection = try await server.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        try await connection.write(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), deadline: patience)
        connection.close()
        #expect(await task.value == .broken("the reply is not HTTP"))
    }

    @ServiceLoop
    @Test
    func `the client returns a redirect as a normal reply`() async throws {
        let reply = try await client.send(clear("/moved"), deadline: patience)
        #expect(reply.status == 302)
    }

    @ServiceLoop
    @Test
    func `the client rejects a reply with a compressed body`() async throws {
        guard case .broken = await failure(of: clear("/encoded")) else {
            Issue.record("accepted a body with an encoding that it did not request")
            return
        }
    }

    @ServiceLoop
    @Test
    func `requests have no Cookie and no User-Agent header`() async throws {
        _ = try await client.send(clear("/cookie"), deadline: patience)
        var request = clear("/agent")
        request.headers = ["X-Test: yes"]
        let reply = try await client.send(request, deadline: patience)
        #expect(reply.text == "<|yes|>")
    }

    @ServiceLoop
    @Test
    func `the client returns the HTTP status and Retry-After of a reply`() async throws {
        let reply = try await client.send(clear("/busy"), deadline: patience)
        #expect(reply.status == 429)
        #expect(reply.retryAfter == "7")
        #expect(reply.text == "later")
    }

    @ServiceLoop
    @Test
    func `a request with a body uses the method POST`() async throws {
        var request = secure("/echo")
        request.body = [UInt8](repeating: 7, count: 300)
        request.headers = ["Content-Type: application/dns-message"]
        let reply = try await client.send(request, deadline: patience)
        #expect(reply.text == "POST 300 application/dns-message")
    }

    @ServiceLoop
    @Test(arguments: ["http://vendor.example.com/a b", "http://exa\nmple.com/", "ftp://a.example/"])
    func `a URL with an invalid form is an invalid request`(url: String) async throws {
        guard
            case .invalidRequest = await failure(of: HTTPRequest(url: url, server: nginx.clear))
        else {
            Issue.record("sent it")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a line break in a header is an invalid request`() async throws {
        var request = clear("/hello")
        request.headers = ["X-Test: a\r\nX-Other: b"]
        guard case .invalidRequest = await failure(of: request) else {
            Issue.record("sent it")
            return
        }
    }

    @ServiceLoop
    @Test
    func `cancelling the task ends the request`() async throws {
        let silent = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(silent.localAddress)
        )
        let task = Task { @ServiceLoop in await failure(of: request) }
        let connection = try await silent.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(try await connection.read(upTo: 1000, deadline: patience) == [])
        #expect(client.inFlight == 0)
    }

    @ServiceLoop
    @Test
    func `after a cancelled request, a handle sends the next request's headers`() async throws {
        let silent = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(silent.localAddress),
            body: [1]
        )
        for header in ["X-Test: a", "X-Test: b"] {
            request.headers = [header]
            let task = Task { @ServiceLoop [request] in await failure(of: request) }
            let connection = try await silent.accept()
            let octets = try await connection.read(upTo: 1000, deadline: patience)
            #expect(String(decoding: octets, as: UTF8.self).contains(header))
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }

    @ServiceLoop
    @Test
    func `the limit on header octets also counts 96 octets for each header line`() async throws {
        let server = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(server.localAddress)
        )
        let task = Task { @ServiceLoop in await failure(of: request) }
        let connection = try await server.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        let lines = "HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 200)
        try await connection.write(Array(lines.utf8), deadline: patience)
        #expect(await task.value == .broken("the reply has more than 16384 octets of headers"))
    }

    @ServiceLoop
    @Test
    func `a server that sends HelloRequests instead of the handshake is disconnected`()
        async throws
    {
        let server = try FloodServer(.helloRequests)
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/",
            server: server.address
        )
        request.certificateFile = server.certificate.authorityFile
        let error = await failure(of: request)
        guard case .connect = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(server.octetsSent < 64 << 20)
    }

    @ServiceLoop
    @Test(arguments: [FloodServer.Flood.unknownFrames, .unknownFramesAfterHelloRequest])
    func `a server that sends HTTP 2 frames without end is cut off; other servers are used`(
        _ flood: FloodServer.Flood
    ) async throws {
        let server = try FloodServer(flood)
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/",
            server: server.address
        )
        request.certificateFile = server.certificate.authorityFile
        request.provider = "hostile"
        #expect(await failure(of: request) == ConnectionPool.overload)
        var other = secure("/hello")
        other.provider = "honest"
        #expect(try await client.send(other, deadline: patience).status == 200)
    }

    @ServiceLoop
    @Test
    func `a provider that uses all its connections does not block another provider`() async throws {
        let silent = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        var limits = HTTPClient.Limits()
        limits.connections = 1
        let client = HTTPClient(limits: limits)
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(silent.localAddress)
        )
        request.provider = "silent"
        let task = ServiceLoop.task { [request] in
            try? await client.send(request, deadline: patience)
        }
        let connection = try await silent.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        var other = clear("/hello")
        other.provider = "other"
        #expect(try await client.send(other, deadline: patience).status == 200)
        task.cancel()
        _ = await task.value
    }

    @ServiceLoop
    @Test
    func `the server is not at fault if there is no memory for its reply`() async throws {
        var limits = HTTPClient.Limits()
        limits.receivedOctets = 100
        await #expect(throws: HTTPError.exhausted("the replies in flight take too much memory")) {
            try await HTTPClient(limits: limits).send(clear("/hello"), deadline: patience)
        }
    }

    @Test(arguments: [
        (EMFILE, true), (ENOBUFS, true), (EADDRNOTAVAIL, true), (ECONNREFUSED, false), (0, false),
    ])
    func `the server is not at fault if descriptors, memory or local ports run out`(
        cause: Int32,
        isOurs: Bool
    ) {
        let error = EasyHandle.connectError(
            cause,
            "no connection",
            to: SocketAddress("127.0.0.1:443")
        )
        if case .exhausted = error { #expect(isOurs) } else { #expect(!isOurs) }
    }

    @ServiceLoop
    @Test
    func `a reset closes connections and aborts requests in flight`() async throws {
        let silent = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(silent.localAddress)
        )
        let task = Task { @ServiceLoop in await failure(of: request) }
        let connection = try await silent.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        client.reset()
        guard case .broken = await task.value else {
            Issue.record("went on")
            return
        }
        #expect(try await connection.read(upTo: 1000, deadline: patience) == [])
    }

    @ServiceLoop
    @Test
    func `after a reset, the repeated requests share one new connection`()
        async throws
    {
        let request = secure("/hello")
        #expect(try await client.send(request, deadline: patience).version == "2")
        let replies = await nginx.whileSilent {
            let broken = (0..<20).map { _ in
                ServiceLoop.task { [self] in await failure(of: request) }
            }
            while client.inFlight < broken.count { await Task.yield() }
            client.reset()
            let again = (0..<20).map { _ in
                ServiceLoop.throwingTask { [client] in
                    try await client.send(request, deadline: patience)
                }
            }
            for task in broken {
                guard case .broken = await task.value else {
                    Issue.record("went on")
                    continue
                }
            }
            return again
        }
        for task in replies { #expect(try await task.value.status == 200) }
        #expect(client.connectionsOpened == 2)
    }

    @ServiceLoop
    @Test(arguments: [true, false])
    func `a request that may be billed is not sent again after its connection ended`(
        isSentOnce: Bool
    ) async throws {
        let server = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(server.localAddress)
        )
        request.isSentOnce = isSentOnce
        let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        let first = ServiceLoop.task { [request] in await failure(of: request) }
        let connection = try await server.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        try await connection.write(ok, deadline: patience)
        #expect(await first.value == nil)

        let second = ServiceLoop.task { [request] in await failure(of: request) }
        #expect(try await !connection.read(upTo: 1000, deadline: patience).isEmpty)
        connection.close()
        let other = try await server.accept()
        let octets = try await other.read(upTo: 1000, deadline: patience)
        #expect(octets.isEmpty == isSentOnce)
        if !isSentOnce { try await other.write(ok, deadline: patience) }
        #expect(await second.value == (isSentOnce ? .cutOff(reused: true) : nil))
    }

    @ServiceLoop
    @Test
    func `a connection that sends HTTP 2 control frames, but no reply, is silent`()
        async throws
    {
        let server = try FloodServer(.pings)
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/",
            server: server.address
        )
        request.certificateFile = server.certificate.authorityFile
        let first = await failure(of: request, deadline: Clock.now + .milliseconds(500))
        #expect(first == .timedOut(reused: false))
        #expect(server.octetsSent > 0)
        // A timeout after 500 ms marks the connection as silent only if libcurl sent the request
        // in the first 250 ms. On a busy machine, libcurl can send the request later.
        let provider = try #require(client.providers[request.provider])
        let pool = try provider.group(for: request).pool
        for _ in 0..<10 where !pool.isSuspect(server.address) {
            let error = await failure(of: request, deadline: Clock.now + .milliseconds(500))
            #expect(error == .timedOut(reused: true))
        }
        #expect(pool.isSuspect(server.address))
        request.wantsFreshConnection = true
        #expect(try provider.group(for: request).pool !== pool)
    }

    @ServiceLoop
    @Test
    func `a connection that the server closes before the handshake is not a refused connection`()
        async throws
    {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let server = try #require(listener.localAddress)
        let request = HTTPRequest(url: "https://\(Certificates.name)/", server: server)
        // libcurl may repeat the request, so each connection is closed.
        let closing = ServiceLoop.task {
            while let connection = try? await listener.accept() { connection.close() }
        }
        let closed = await failure(of: request)
        guard case .connect(_, isOpen: true)? = closed else {
            Issue.record("\(String(describing: closed))")
            return
        }
        listener.close()
        await closing.value
        let refused = await failure(of: request)
        guard case .connect(_, isOpen: false)? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
    }

    @ServiceLoop
    @Test
    func `octets that arrive on an idle connection are not the reply to the next request`()
        async throws
    {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let server = try #require(listener.localAddress)
        let request = HTTPRequest(url: "http://vendor.example.com/", server: server)
        func answer(_ connection: StreamConnection, _ body: String) async throws {
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\(body)"
            try await connection.write(Array(reply.utf8), deadline: patience)
        }
        let first = ServiceLoop.throwingTask { try await client.send(request, deadline: patience) }
        let old = try await listener.accept()
        _ = try await old.read(upTo: 1000, deadline: patience)
        try await answer(old, "one")
        #expect(try await first.value.body == Array("one".utf8))
        try await answer(old, "bad")
        #expect(try await old.read(upTo: 1000, deadline: patience).isEmpty)
        let second = ServiceLoop.throwingTask { try await client.send(request, deadline: patience) }
        let new = try await listener.accept()
        _ = try await new.read(upTo: 1000, deadline: patience)
        try await answer(new, "two")
        #expect(try await second.value.body == Array("two".utf8))
    }

    @ServiceLoop
    @Test
    func `after the network has lost a connection, the idle connections are not used`()
        async throws
    {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let server = try #require(listener.localAddress)
        let request = HTTPRequest(url: "http://vendor.example.com/", server: server)
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
        var old: [StreamConnection] = []
        let tasks = (0..<3).map { _ in
            ServiceLoop.throwingTask { try await client.send(request, deadline: patience) }
        }
        for _ in tasks {
            let connection = try await listener.accept()
            _ = try await connection.read(upTo: 1000, deadline: patience)
            old.append(connection)
        }
        for connection in old { try await connection.write(reply, deadline: patience) }
        for task in tasks { _ = try await task.value }
        try loseConnections(of: server)
        // The kernel retransmits the request for the first time after 0.2 to 0.5 s.
        let silent = await failure(of: request, deadline: Clock.now + .milliseconds(1_500))
        #expect(silent == .timedOut(reused: true))
        let next = ServiceLoop.throwingTask { try await client.send(request, deadline: patience) }
        let new = try await listener.accept()
        _ = try await new.read(upTo: 1000, deadline: patience)
        try await new.write(reply, deadline: patience)
        #expect(try await !next.value.connectionReused)
    }

    @ServiceLoop
    @Test
    func `over HTTP/1.1, a name without a reply does not close idle connections`() async throws {
        let tasks = (0..<3).map { _ in
            ServiceLoop.throwingTask { try await client.send(clear("/hello"), deadline: patience) }
        }
        for task in tasks { _ = try await task.value }
        let opened = client.connectionsOpened
        let error = await failure(of: clear("/silent"), deadline: Clock.now + .milliseconds(200))
        #expect(error == .timedOut(reused: true))
        var fresh = clear("/hello")
        fresh.wantsFreshConnection = true
        _ = try await client.send(fresh, deadline: patience)
        let again = (0..<3).map { _ in
            ServiceLoop.throwingTask { try await client.send(clear("/hello"), deadline: patience) }
        }
        for task in again { #expect(try await task.value.connectionReused) }
        #expect(client.connectionsOpened == opened + 1)
    }

    @ServiceLoop
    @Test
    func `the client reaches an IPv6 server, and rejects a truncated reply`() async throws {
        let listener = try StreamListener(binding: try #require(SocketAddress("[::1]:0")))
        let request = HTTPRequest(
            url: "http://vendor.example.com/x?secret=1",
            server: try #require(listener.localAddress)
        )
        let task = ServiceLoop.task { await failure(of: request) }
        let connection = try await listener.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
        try await connection.write(Array(reply.utf8), deadline: patience)
        connection.close()
        let error = await task.value
        guard case .broken(let words) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!words.contains("secret"))
    }

    @ServiceLoop
    @Test
    func `a tunnel through a proxy leads to the server's address`() async throws {
        let proxy = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        var request = HTTPRequest(
            url: "http://vendor.example.com/",
            server: try #require(SocketAddress("192.0.2.7:80"))
        )
        request.proxy = proxy.localAddress
        let task = ServiceLoop.throwingTask { [request] in
            try await client.send(request, deadline: patience)
        }
        let connection = try await proxy.accept()
        let first = try await connection.read(upTo: 1000, deadline: patience)
        #expect(first.starts(with: "CONNECT 192.0.2.7:80 HTTP/1.1\r\n".utf8))
        try await connection.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8), deadline: patience)
        let second = try await connection.read(upTo: 1000, deadline: patience)
        #expect(second.starts(with: "GET / HTTP/1.1\r\nHost: vendor.example.com\r\n".utf8))
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        try await connection.write(Array(reply.utf8), deadline: patience)
        #expect(try await task.value.text == "hi")
    }

    @ServiceLoop
    @Test(arguments: ["192.0.2.7:80", "192.0.2.7:8053", "[2001:db8::7]:80"])
    func `over HTTP, a proxy gets the complete URL with the address of the server`(server: String)
        async throws
    {
        let proxy = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let host = server.hasSuffix(":80") ? String(server.dropLast(3)) : server
        var request = HTTPRequest(
            url: "http://\(host)/d?dn=x",
            server: try #require(SocketAddress(server))
        )
        request.proxy = proxy.localAddress
        let task = ServiceLoop.throwingTask { [request] in
            try await client.send(request, deadline: patience)
        }
        let connection = try await proxy.accept()
        let head = try await connection.read(upTo: 1000, deadline: patience)
        #expect(head.starts(with: "GET http://\(host)/d?dn=x HTTP/1.1\r\nHost: \(host)\r\n".utf8))
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        try await connection.write(Array(reply.utf8), deadline: patience)
        #expect(try await task.value.text == "hi")
    }

    @ServiceLoop
    @Test(arguments: [
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 403),
        ("HTTP/1.1 407 Denied\r\nContent-Length: 9000000000\r\n\r\nbody", 407),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nbody", 407),
        ("HTTP/1.1 100 Continue\r\n\r\n", 100), ("HTTP/1.0 302 Found\r\n", 302),
    ])
    func `a proxy's refusal is a connection error, and the rest of the reply is not read`(
        refusal: String,
        status: Int
    ) async throws {
        let fault = try await failure(answering: refusal)
        #expect(fault == .connect("the proxy answers HTTP \(status)"))
    }

    @ServiceLoop
    @Test
    func `a reply of a proxy to CONNECT that exceeds the limit ends the request`() async throws {
        let line = "X-Line: \(String(repeating: "x", count: 1000))\r\n"
        let lines = String(repeating: line, count: 100)
        let fault = try await failure(answering: "HTTP/1.1 200 OK\r\n\(lines)")
        let limit = HTTPClient.Limits().headerOctets
        #expect(fault == .connect("the proxy sends more than \(limit) octets of headers"))
    }

    @ServiceLoop
    private func failure(answering text: String) async throws -> HTTPError? {
        let proxy = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        var request = HTTPRequest(
            url: "https://vendor.example.com/",
            server: try #require(SocketAddress("192.0.2.7:443"))
        )
        request.proxy = proxy.localAddress
        let task = ServiceLoop.task { [request] in await failure(of: request) }
        let connection = try await proxy.accept()
        _ = try await connection.read(upTo: 1000, deadline: patience)
        try? await connection.write(Array(text.utf8), deadline: patience)
        let fault = await task.value
        withExtendedLifetime(connection) {}
        return fault
    }

    @ServiceLoop
    @Test
    func `SSL_CERT_FILE replaces the system's certificates`() async throws {
        let (port, file) = (nginx.secure.port, nginx.authorityFile)
        await #expect(processExitsWith: .success) {
            [port = port as UInt16, file = file as String] in
            setenv("SSL_CERT_FILE", file, 1)
            let server = try #require(SocketAddress("127.0.0.1:\(port)"))
            let request = HTTPRequest(url: "https://\(Certificates.name)/hello", server: server)
            let reply = try await HTTPClient().send(request, deadline: patience)
            try #require(reply.status == 200)
        }
    }

    @ServiceLoop
    @Test
    func `proxies from the environment are ignored`() async throws {
        await #expect(processExitsWith: .success) { [port = nginx.clear.port as UInt16] in
            setenv("http_proxy", "http://127.0.0.1:9", 1)
            setenv("ALL_PROXY", "http://127.0.0.1:9", 1)
            let server = try #require(SocketAddress("127.0.0.1:\(port)"))
            let request = HTTPRequest(url: "http://vendor.example.com/hello", server: server)
            let reply = try await HTTPClient().send(request, deadline: patience)
            try #require(reply.status == 200)
        }
    }

    @ServiceLoop
    func failure(
        of request: HTTPRequest,
        deadline: Instant? = nil
    ) async -> HTTPError? {
        do throws(HTTPError) {
            _ = try await client.send(request, deadline: deadline ?? patience)
            return nil
        } catch {
            return error
        }
    }
}
