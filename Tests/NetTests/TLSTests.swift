// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("TLS connections", .timeLimit(.minutes(15)))
struct TLSTests {
    let nginx: Nginx

    init() throws {
        nginx = try Nginx()
    }

    @ServiceLoop
    private func client() throws -> TLSClient {
        try TLSClient(certificateFile: nginx.authorityFile, protocols: ["http/1.1"])
    }

    @ServiceLoop
    private func get(_ path: String, over connection: some OctetStream) async throws -> String {
        let request =
            "GET \(path) HTTP/1.1\r\nHost: \(Certificates.name)\r\nConnection: close\r\n\r\n"
        try await connection.write([UInt8](request.utf8), deadline: patience)
        var octets: [UInt8] = []
        while true {
            let more = try await connection.read(upTo: 100_000, deadline: patience)
            guard !more.isEmpty else { return String(decoding: octets, as: UTF8.self) }
            octets += more
        }
    }

    @ServiceLoop
    @Test(arguments: [Certificates.name, Certificates.address])
    func `a server with a certificate for the name or the address is accepted`(
        _ name: String
    ) async throws {
        let connection = try await client().connect(
            to: nginx.secure,
            name: name,
            deadline: patience
        )
        #expect(["TLSv1.2", "TLSv1.3"].contains(connection.version))
        #expect(!connection.isResumed)
        let text = try await get("/hello", over: connection)
        #expect(text.hasSuffix("hello vendor.example.com HTTP/1.1"))
        connection.close()
    }

    @ServiceLoop
    @Test
    func `a megabyte is received, and the end of the stream is reported`() async throws {
        let connection = try await client().connect(
            to: nginx.secure,
            name: Certificates.name,
            deadline: patience
        )
        let text = try await get("/big", over: connection)
        #expect(text.utf8.count > 1 << 20)
        #expect(text.hasSuffix(String(repeating: "x", count: 1_000)))
    }

    @ServiceLoop
    @Test
    func `a second connection to a server resumes the session of the first`() async throws {
        let client = try client()
        for (index, name) in [Certificates.name, Certificates.name, Certificates.address]
            .enumerated()
        {
            let connection = try await client.connect(
                to: nginx.secure,
                name: name,
                deadline: patience
            )
            #expect(connection.isResumed == (index == 1))
            _ = try await get("/hello", over: connection)
        }
    }

    @ServiceLoop
    @Test
    func `if a server refuses the resumption of sessions, the client connects without a session`()
        async throws
    {
        let server = try TicketRefusingServer()
        let client = try TLSClient(certificateFile: server.certificate.authorityFile)
        for count in 0...2 {
            let connection = try await client.connect(
                to: server.address,
                name: Certificates.name,
                deadline: patience
            )
            #expect(!connection.isResumed)
            #expect(try await connection.read(upTo: 10, deadline: patience).count == 1)
            connection.close()
            #expect(server.refused == count)
        }
    }

    @ServiceLoop
    @Test
    func `the budget is charged only for a connection that ends without data`() async throws {
        let client = try client()
        for isAnswered in [true, false] {
            let connection = try await client.connect(
                to: nginx.secure,
                name: Certificates.name,
                deadline: patience
            )
            if isAnswered { _ = try await get("/hello", over: connection) }
            connection.close()
            #expect(client.budgets.isEmpty == isAnswered)
        }
    }

    @ServiceLoop
    @Test
    func `the budget is charged for a failed handshake`() async throws {
        let client = try TLSClient(certificateFile: nil)
        await #expect(throws: TLSError.self) {
            try await client.connect(to: nginx.secure, name: Certificates.name, deadline: patience)
        }
        #expect(try #require(client.budgets.values.first).level > .zero)
    }

    @ServiceLoop
    @Test
    func `no connection is opened while the budget of its server is used up`() async throws {
        let client = try client()
        let server = TLSClient.Server(address: nginx.secure, name: Certificates.name)
        client.chargeUnanswered(.seconds(3_600), to: server)
        await #expect(throws: TLSError.socket(.timedOut)) {
            try await client.connect(
                to: nginx.secure,
                name: server.name,
                deadline: Clock.now + .milliseconds(500)
            )
        }
        let connection = try await client.connect(
            to: nginx.secure,
            name: Certificates.address,
            deadline: patience
        )
        connection.close()
    }

    @ServiceLoop
    @Test(arguments: ["other.example.com", "example.com", "192.0.2.8", "127.0.0.1"])
    func `a server with a wrong certificate receives no data`(_ name: String) async throws {
        let error = await #expect(throws: TLSError.self) {
            try await client().connect(to: nginx.secure, name: name, deadline: patience)
        }
        guard case .untrusted(let why) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("mismatch"))
    }

    @ServiceLoop
    @Test
    func `a certificate of an untrusted authority is rejected`() async throws {
        let client = try TLSClient(certificateFile: nil)
        let error = await #expect(throws: TLSError.self) {
            try await client.connect(to: nginx.secure, name: Certificates.name, deadline: patience)
        }
        guard case .untrusted = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a connection to a server without TLS fails in the handshake`() async throws {
        let error = await #expect(throws: TLSError.self) {
            try await client().connect(
                to: nginx.clear,
                name: Certificates.name,
                deadline: patience
            )
        }
        guard case .handshake = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a handshake with an unresponsive server ends at the deadline`() async throws {
        let silent = try ListeningSocket()
        await #expect(throws: TLSError.socket(.timedOut)) {
            try await client().connect(
                to: silent.address,
                name: Certificates.name,
                deadline: Clock.now + .milliseconds(50)
            )
        }
    }

    @ServiceLoop
    @Test
    func `a wait for data ends when this process closes the connection`() async throws {
        let connection = try await client().connect(
            to: nginx.secure,
            name: Certificates.name,
            deadline: patience
        )
        let reading = ServiceLoop.throwingTask {
            try await connection.read(upTo: 10, deadline: patience)
        }
        ServiceLoop.task { connection.close() }
        await #expect(throws: SocketError.closed) { try await reading.value }
        await #expect(throws: SocketError.self) {
            try await connection.write([1], deadline: patience)
        }
    }

    @ServiceLoop
    @Test
    func `an unreadable certificate file is an error before any data is sent`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("no certificate", to: "ca.pem")
        for file in [directory.path("ca.pem"), directory.path("nothing.pem")] {
            #expect(throws: TLSError.self) { try TLSClient(certificateFile: file) }
        }
    }

    @ServiceLoop
    @Test
    func `a server that sends HelloRequests instead of the handshake is disconnected`()
        async throws
    {
        let server = try FloodServer(.helloRequests)
        let client = try TLSClient(certificateFile: server.certificate.authorityFile)
        await #expect(throws: TLSError.handshake("the server closed the connection")) {
            _ = try await client.connect(
                to: server.address,
                name: Certificates.name,
                deadline: patience
            )
        }
        #expect(server.octetsSent < 64 << 20)
    }

    @ServiceLoop
    @Test(arguments: [FloodServer.Flood.keyUpdates, .keyUpdatesWithData])
    func `a server that sends key updates and little data is disconnected`(
        _ flood: FloodServer.Flood
    ) async throws {
        let server = try FloodServer(flood)
        let client = try TLSClient(certificateFile: server.certificate.authorityFile)
        let connection = try await client.connect(
            to: server.address,
            name: Certificates.name,
            deadline: patience
        )
        let error = await #expect(throws: SocketError.self) {
            while true { _ = try await connection.read(upTo: 512, deadline: patience) }
        }
        guard case .broken(let why) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("control messages"))
        connection.close()
    }
}
