// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("Trusted certificates", .timeLimit(.minutes(15)))
struct TrustStoreTests {
    let nginx: Nginx
    let directory: TemporaryDirectory

    init() throws {
        nginx = try Nginx()
        directory = try TemporaryDirectory()
    }

    private var file: String { directory.path("trusted.pem") }

    private func trust(_ certificates: String) throws {
        try directory.write(certificates, to: "new.pem")
        try #require(rename(directory.path("new.pem"), file) == 0)
    }

    private var authority: String {
        get throws { try String(contentsOfFile: nginx.authorityFile, encoding: .utf8) }
    }

    private func otherAuthority() throws -> String {
        try Program.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-days", "2", "-subj", "/CN=Other authority", "-newkey", "ec",
                "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "other.key", "-out",
                "other.pem",
            ],
            in: directory.url
        )
        return try String(contentsOfFile: directory.path("other.pem"), encoding: .utf8)
    }

    @ServiceLoop
    private func isTrusted(by client: HTTPClient) async throws -> Bool {
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/hello",
            server: nginx.secure
        )
        request.certificateFile = file
        do throws(HTTPError) {
            return try await client.send(request, deadline: patience).status == 200
        } catch .tls {
            return false
        }
    }

    @ServiceLoop
    private func isTrusted(by client: TLSClient) async throws -> Bool {
        do throws(TLSError) {
            let server = nginx.secure
            try await client.connect(to: server, name: Certificates.name, deadline: patience)
                .close()
            return true
        } catch .untrusted {
            return false
        }
    }

    @ServiceLoop
    @Test
    func `a file with certificates is parsed once for all connections`() async throws {
        try trust(try authority)
        let (http, tls) = (HTTPClient(), try TLSClient(certificateFile: file))
        for _ in 0..<20 {
            var request = HTTPRequest(
                url: "https://\(Certificates.name)/hello",
                server: nginx.secure
            )
            request.certificateFile = file
            request.wantsFreshConnection = true
            #expect(try await http.send(request, deadline: patience).status == 200)
            #expect(try await isTrusted(by: tls))
        }
        #expect(http.connectionsOpened == 20)
        #expect(TrustStores.shared.loads(of: .file(file)) == 1)
    }

    @ServiceLoop
    @Test
    func `a replaced file applies to new connections, for added and for removed authorities`()
        async throws
    {
        let other = try otherAuthority()
        try trust(other)
        let (http, tls) = (HTTPClient(), try TLSClient(certificateFile: file))
        #expect(try await !isTrusted(by: http))
        #expect(try await !isTrusted(by: tls))
        try trust(try authority)
        while try await !isTrusted(by: http) {}
        #expect(try await isTrusted(by: tls))
        try trust(other)
        while try await isTrusted(by: http) {}
        #expect(try await !isTrusted(by: tls))
        #expect(TrustStores.shared.loads(of: .file(file)) == 3)
    }

    @ServiceLoop
    @Test
    func `if a file becomes invalid, the previous certificates stay in use`()
        async throws
    {
        try trust(try authority)
        let http = HTTPClient()
        #expect(try await isTrusted(by: http))
        try trust("no certificate")
        while TrustStores.shared.loads(of: .file(file)) < 2 {
            #expect(try await isTrusted(by: http))
        }
        #expect(try await isTrusted(by: http))
        #expect(try await isTrusted(by: TLSClient(certificateFile: file)))
        #expect(TrustStores.shared.loads(of: .file(file)) == 2)
    }

    @ServiceLoop
    @Test
    func `if the system's file is lost or damaged, the previous certificates stay in use`()
        async throws
    {
        try trust(try authority)
        await #expect(processExitsWith: .success) {
            [port = nginx.secure.port as UInt16, file = file as String] in
            setenv("SSL_CERT_FILE", file, 1)
            setenv("SSL_CERT_DIR", file + ".none", 1)
            try await Self.damage(file, trustedBy: port)
        }
    }

    @ServiceLoop
    private static func damage(_ file: String, trustedBy port: UInt16) async throws {
        let server = try #require(SocketAddress("127.0.0.1:\(port)"))
        let (client, stores) = (HTTPClient(), TrustStores.shared)
        var request = HTTPRequest(url: "https://\(Certificates.name)/hello", server: server)
        request.wantsFreshConnection = true
        var notices: [String] = []
        stores.observer = { notice in
            switch notice {
            case .reloaded: notices.append("reloaded")
            case .failed: notices.append("failed")
            case .absent: notices.append("absent")
            }
        }
        let good = try String(contentsOfFile: file, encoding: .utf8)
        try #require(try await client.send(request, deadline: patience).status == 200)
        for content in [nil, "", String(good.prefix(200)), good] {
            let loads = stores.loads(of: .system)
            if let content {
                try content.write(toFile: file, atomically: true, encoding: .utf8)
            } else {
                try #require(unlink(file) == 0)
            }
            while stores.loads(of: .system) == loads {
                try #require(try await client.send(request, deadline: patience).status == 200)
            }
            try #require(try await client.send(request, deadline: patience).status == 200)
        }
        try #require(notices == ["failed", "failed", "failed", "reloaded"])
    }
}
