// SPDX-License-Identifier: Apache-2.0
import CCurl
import Glibc
import TestWorld
import Testing

@testable import Net

/// Includes a test for a bug of libcurl before 8.1.0; see ``LibraryVersion/hasStaleHeaders``.
@Suite("libcurl handles that are used again", .timeLimit(.minutes(15)))
struct HTTPHandleTests {
    private func request(_ path: String, to server: DowngradingServer) -> HTTPRequest {
        var request = HTTPRequest(
            url: "https://\(Certificates.name)\(path)",
            server: server.address
        )
        request.certificateFile = server.certificate.authorityFile
        return request
    }

    @ServiceLoop
    private func idleHandles(of client: HTTPClient, _ request: HTTPRequest) throws -> [EasyHandle] {
        try #require(client.providers[request.provider]).group(for: request).handles.idle
    }

    @ServiceLoop
    private func error(of request: HTTPRequest, _ client: HTTPClient) async -> HTTPError? {
        do throws(HTTPError) {
            _ = try await client.send(request, deadline: patience)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ((16 << 10) + 1, false),
        // Since libcurl 8.1, the send buffer of HTTP/2 has 40 octets and 16 KiB.
        ((16 << 10) + 40, true),
        (100, true),
        (20_000, true),
    ])
    func `libcurl's memory is erased when it is freed, except receive buffers`(
        octets: Int,
        isErased: Bool
    ) throws {
        ConnectionPool.initialiseOnce
        let block = try #require(malloc(octets))
        defer { free(block) }
        #expect(curl_library_erases(block) == isErased)
    }

    @ServiceLoop
    @Test
    func `a second HTTP 2 request uses the handle of the first`() async throws {
        let nginx = try Nginx()
        let client = HTTPClient()
        var request = HTTPRequest(url: "https://\(Certificates.name)/hello", server: nginx.secure)
        request.certificateFile = nginx.authorityFile
        _ = try await client.send(request, deadline: patience)
        let first = try idleHandles(of: client, request)
        let reply = try await client.send(request, deadline: patience)
        #expect(reply.version == "2")
        #expect(reply.text.hasPrefix("hello"))
        let second = try idleHandles(of: client, request)
        #expect(first.count == 1 && second.count == 1 && first[0] === second[0])
    }

    @ServiceLoop
    @Test
    func `a reused handle sends the path and the query of each request`() async throws {
        let nginx = try Nginx()
        let client = HTTPClient()
        var used: [EasyHandle] = []
        for (sent, expected) in [
            ("/uri?a=1", "/uri?a=1"), ("/uri?b=22&c=3", "/uri?b=22&c=3"), ("/uri?d", "/uri?d"),
            ("/uri/x?a=1", "/uri/x?a=1"), ("/uri/x", "/uri/x"), ("/uri/xy?a=1", "/uri/xy?a=1"),
            ("/uri/xy?a=%2Fx", "/uri/xy?a=%2Fx"), ("/uri/xy?a?b=/", "/uri/xy?a?b=/"),
            ("/uri/xy?a=1#f?b=2", "/uri/xy?a=1"), ("/uri/xy?a=2", "/uri/xy?a=2"),
        ] {
            let url = "https://\(Certificates.name)\(sent)"
            var request = HTTPRequest(url: url, server: nginx.secure)
            request.certificateFile = nginx.authorityFile
            #expect(try await client.send(request, deadline: patience).text == expected)
            used += try idleHandles(of: client, request)
        }
        #expect(used.allSatisfy { $0 === used[0] })
    }

    @ServiceLoop
    @Test(arguments: [false, true])
    func `a handle of an HTTP 2 request sends nothing over HTTP 1`(isSentOnce: Bool) async throws {
        let server = try DowngradingServer()
        let client = HTTPClient()
        for _ in 0..<2 {
            let reply = try await client.send(request("/", to: server), deadline: patience)
            #expect(reply.version == "2")
        }
        #expect(try idleHandles(of: client, request("/", to: server)).count == 1)
        var blank = request("/blank", to: server)
        blank.isSentOnce = isSentOnce
        // libcurl would accept the reply if the handle still had a header of an earlier reply.
        var failure = await error(of: blank, client)
        // The server has closed the connection, which libcurl may notice only after sending.
        if failure == .cutOff(reused: true) { failure = await error(of: blank, client) }
        #expect(failure == .broken("the reply is not HTTP"))
        #expect(server.requestsOverHTTP1 == 1)
        var ordinary = request("/", to: server)
        ordinary.isSentOnce = isSentOnce
        let reply = try await client.send(ordinary, deadline: patience)
        #expect(reply.version == "1.1")
        #expect(reply.text == "1")
        #expect(server.requestsOverHTTP1 == 2)
    }

    @ServiceLoop
    @Test("over HTTP/1.1, a request after close_notify uses a new connection")
    func closeNotify() async throws {
        let server = try DowngradingServer()
        let client = HTTPClient()
        for _ in 0..<2 {
            _ = try await client.send(request("/", to: server), deadline: patience)
        }
        while await error(of: request("/end", to: server), client) != nil {}
        while server.connectionsEnded == 0 { await Task.yield() }
        var last = request("/", to: server)
        // libcurl would repeat other requests itself.
        last.isSentOnce = true
        #expect(await error(of: last, client) == nil)
    }
}
