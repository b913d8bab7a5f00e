// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

final class TestNginx: Sendable {
    let port: UInt16

    let authority: Authority
    private let program: Child
    private let scratch: Scratch

    struct Site {
        let names: [String]

        let content: String

        var isExpired = false

        static func front(
            for names: [String] = ["IP:127.0.0.1", "DNS:vendor.example.net"],
            isExpired: Bool = false
        ) -> Site {
            Site(
                names: names,
                content: """
                    proxy_pass http://backend;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    proxy_set_header X-Forwarded-Proto $scheme;
                    proxy_next_upstream off;
                    proxy_read_timeout 20s;
                    """,
                isExpired: isExpired
            )
        }
    }

    /// Starts nginx.
    ///
    /// Outside a namespace, nginx inherits a listening socket, so that no other process can take
    /// the port.
    init(
        _ sites: [Site],
        backend: String? = nil,
        authority: Authority,
        hasHTTP2: Bool = true,
        requests: Int = 100_000,
        listen addresses: [String] = [],
        in namespace: Namespace? = nil
    ) throws {
        scratch = try Scratch()
        self.authority = authority
        let socket = try Socket(.stream, bound: true)
        port = namespace == nil ? socket.port : 443
        let places = namespace == nil ? ["127.0.0.1:\(port)"] : addresses
        var servers = ""
        for (number, site) in sites.enumerated() {
            try authority.issue(
                "site\(number)",
                for: site.names,
                isExpired: site.isExpired,
                in: scratch
            )
            let names = site.names.filter { $0.hasPrefix("DNS:") }.map { $0.dropFirst(4) }
            servers += """
                server {
                    \(places.map { "listen \($0) ssl\(hasHTTP2 ? " http2" : "");" }.joined(separator: " "))
                    server_name \(names.isEmpty ? "_" : names.joined(separator: " "));
                    ssl_certificate site\(number).pem;
                    ssl_certificate_key site\(number).key;
                    location / { \(site.content) }
                }

                """
        }
        let upstream = backend.map { "upstream backend { server \($0) max_fails=0; keepalive 8; }" }
        try scratch.write(Self.settings(upstream ?? "", servers, requests), to: "nginx.conf")
        let arguments = ["-p", scratch.path, "-c", "nginx.conf", "-e", "stderr"]
        if namespace == nil {
            try socket.listen()
            program = try Child(
                "nginx",
                arguments,
                environment: ["NGINX": "100;"],
                descriptors: [100: socket.descriptor]
            )
        } else {
            program = try Child("nginx", arguments, in: namespace)
        }
        _ = try program.line(with: "start worker process ")
    }

    /// Stops nginx with a signal that it handles: after SIGKILL, its worker process would continue.
    deinit { _ = try? program.stop() }

    struct Access: Sendable {
        let httpVersion: String

        let connection: String

        let host: String

        /// Name in SNI (RFC 6066 §3), or `-`.
        let serverName: String
    }

    func stop() throws -> [Access] {
        try program.stop()
        return try scratch.read("access.log").split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            return Access(
                httpVersion: words[0],
                connection: words[1],
                host: words[3],
                serverName: words[4]
            )
        }
    }

    private static func settings(_ upstream: String, _ servers: String, _ requests: Int) -> String {
        """
        user root;
        daemon off;
        worker_processes 1;
        pid nginx.pid;
        error_log stderr notice;
        events { worker_connections 512; }
        http {
            log_format short "$server_protocol $connection $status $host $ssl_server_name";
            access_log access.log short;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            keepalive_requests \(requests);
            \(upstream)
            \(servers)
        }
        """
    }
}

final class Authority: Sendable {
    let file: String
    private let scratch: Scratch

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    init() throws {
        scratch = try Scratch()
        file = scratch.file("ca.pem")
        try Self.openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=Test authority"] + Self.newKey
                + ["-keyout", scratch.file("ca.key"), "-out", file]
        )
    }

    /// Issues a certificate (RFC 5280 §4.1.2.5).
    ///
    /// If `isExpired` is true, the certificate expires at the moment of its issue.
    func issue(
        _ title: String,
        for names: [String],
        isExpired: Bool = false,
        in other: Scratch
    ) throws {
        let request = other.file(title + ".csr")
        try Self.openssl(
            ["req", "-subj", "/CN=not-looked-at.example.com"] + Self.newKey
                + ["-keyout", other.file(title + ".key"), "-out", request]
        )
        let extensions = try other.write(
            "subjectAltName=\(names.joined(separator: ","))\n",
            to: title + ".ext"
        )
        try Self.openssl([
            "x509", "-req", "-days", isExpired ? "0" : "2", "-in", request, "-CA", file, "-CAkey",
            scratch.file("ca.key"), "-CAcreateserial", "-extfile", extensions, "-out",
            other.file(title + ".pem"),
        ])
    }

    private static func openssl(_ arguments: [String]) throws {
        let end = try run("openssl", arguments)
        try #require(end.status == 0, "\(end.errors)")
    }
}
