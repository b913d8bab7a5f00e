// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

/// nginx with HTTP/1.1 on one port, and HTTP/2 and 1.1 over TLS on another.
final class Nginx: Sendable {
    let clear: SocketAddress

    let secure: SocketAddress

    let authorityFile: String

    /// Port to which nginx forwards requests for `/silent`; no program replies on this port.
    private let silent: ListeningSocket

    private let directory: TemporaryDirectory
    private let program: Program

    /// Starts nginx, which inherits listening sockets, so that no other program takes the port.
    init() throws {
        let certificates = try Certificates.shared.get()
        directory = try TemporaryDirectory()
        let sockets = try [ListeningSocket(), ListeningSocket()]
        (clear, secure, silent) = (sockets[0].address, sockets[1].address, try ListeningSocket())
        try directory.write(certificates.authority, to: "ca.pem")
        try directory.write(certificates.certificate, to: "server.pem")
        try directory.write(certificates.key, to: "server.key")
        try directory.write(String(repeating: "x", count: 1 << 20), to: "big")
        try directory.write(
            Self.settings(clear.port, secure.port, silent: silent.address.port),
            to: "nginx.conf"
        )
        authorityFile = directory.path("ca.pem")
        program = try withExtendedLifetime(sockets) { [directory] in
            try Program(
                "nginx",
                ["-p", directory.url.path, "-c", "nginx.conf", "-e", "error.log"],
                environment: ["PATH": "/usr/sbin:/usr/bin", "NGINX": "100;101;"],
                descriptors: [100: sockets[0].descriptor, 101: sockets[1].descriptor]
            )
        }
    }

    func whileSilent<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let workers = program.children
        for worker in workers { kill(worker, SIGSTOP) }
        defer { for worker in workers { kill(worker, SIGCONT) } }
        return try await body()
    }

    private static func settings(_ clear: UInt16, _ secure: UInt16, silent: UInt16) -> String {
        """
        user root;
        daemon off;
        worker_processes 1;
        pid nginx.pid;
        events { worker_connections 512; }
        http {
            access_log off;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            keepalive_requests 100000;
            http2_max_concurrent_streams 256;
            server {
                listen 127.0.0.1:\(clear);
                listen 127.0.0.1:\(secure) ssl http2;
                ssl_certificate server.pem;
                ssl_certificate_key server.key;
                root .;
                location = /hello { return 200 "hello $host $server_protocol"; }
                location /uri { return 200 "$request_uri"; }
                location = /agent { return 200 "<$http_user_agent|$http_x_test|$http_cookie>"; }
                location = /silent { proxy_pass http://127.0.0.1:\(silent); proxy_read_timeout 1h; }
                location = /close { return 444; }
                location = /missing { return 404 "no"; }
                location = /busy { add_header Retry-After 7 always; return 429 "later"; }
                location = /moved { return 302 http://127.0.0.1:\(clear)/hello; }
                location = /encoded { add_header Content-Encoding gzip; return 200 "not really"; }
                location = /cookie { add_header Set-Cookie "a=b"; return 200 "take it"; }
                location = /headers {
                    \(String(repeating: "add_header X-Long \(String(repeating: "y", count: 900));\n", count: 20))
                    return 200 "long";
                }
                location = /post { client_max_body_size 16m; proxy_pass http://127.0.0.1:\(clear)/echo; }
                location = /echo { client_max_body_size 16m; return 200 "$request_method $content_length $content_type"; }
            }
        }
        """
    }
}

/// Drops all segments that arrive on the accepted connections of `listener`, without a reply.
func loseConnections(of listener: SocketAddress) throws {
    let drop: [UInt64] = [0x06]
    struct Program {
        let count: UInt16 = 1
        let instructions: UnsafePointer<UInt64>
    }
    var lost = 0
    for descriptor in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap(Int32.init)
    where SocketAddress(peerOf: descriptor) != nil
        && SocketAddress(localOf: descriptor)?.port == listener.port
    {
        let status = drop.withUnsafeBufferPointer { instructions -> Int32 in
            guard let address = instructions.baseAddress else { return -1 }
            var program = Program(instructions: address)
            let size = socklen_t(MemoryLayout<Program>.size)
            return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, size)
        }
        try #require(status == 0)
        lost += 1
    }
    try #require(lost > 0)
}

final class ListeningSocket: Sendable {
    let descriptor: Int32
    let address: SocketAddress

    init(listens: Bool = true) throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        self.descriptor = descriptor
        let bound = any.withSockaddr { bind(descriptor, $0, $1) }
        try #require(bound == 0 && (!listens || listen(descriptor, 128) == 0))
        address = try #require(SocketAddress(localOf: descriptor))
    }

    deinit { close(descriptor) }
}
