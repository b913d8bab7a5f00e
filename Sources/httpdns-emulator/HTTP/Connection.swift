// SPDX-License-Identifier: Apache-2.0
import FlyingSocks
import Foundation
import Glibc

struct Connection: Sendable {
    /// Closed by `serve`.
    let socket: AsyncSocket

    let emulator: Emulator

    func serve() async {
        let peer = (try? socket.socket.remotePeer()).map(Self.text(of:)) ?? "0.0.0.0"
        var buffer: [UInt8] = []
        var carriesCalls = false
        do {
            while true {
                guard let request = try await next(in: &buffer, peer: peer) else { break }
                let reply = emulator.reply(to: request, onNewConnection: !carriesCalls)
                carriesCalls = carriesCalls || emulator.vendor(of: request) != nil
                guard try await deliver(reply, keepsAlive: request.keepsAlive) else { break }
            }
        } catch let failure as Request.Failure {
            var response = Response(status: failure.rawValue)
            response.headers = []
            _ = try? await deliver(Reply(response: response), keepsAlive: false)
            await drain()
        } catch {
            emulator.log("connection from \(peer) ended: \(error)")
        }
        try? socket.close()
    }

    // MARK: - Reading

    private func next(in buffer: inout [UInt8], peer: String) async throws -> Request? {
        var end = buffer.firstRange(of: Self.emptyLine)
        while end == nil {
            guard buffer.count <= Limits.headOctets else { throw Request.Failure.headTooLong }
            let searched = max(0, buffer.count - Self.emptyLine.count + 1)
            guard try await readMore(into: &buffer) else {
                if buffer.isEmpty { return nil }
                throw Request.Failure.malformed
            }
            end = buffer[searched...].firstRange(of: Self.emptyLine)
        }
        guard let end else { return nil }

        var request = try Request(head: buffer[..<end.lowerBound], peer: peer)
        let length = try request.contentLength
        while buffer.count - end.upperBound < length {
            guard try await readMore(into: &buffer) else { throw Request.Failure.malformed }
        }
        request.body = Array(buffer[end.upperBound..<end.upperBound + length])
        buffer.removeFirst(end.upperBound + length)
        return request
    }

    private func readMore(into buffer: inout [UInt8]) async throws -> Bool {
        do {
            buffer += try await socket.read(atMost: Limits.readOctets)
            return true
        } catch SocketError.disconnected {
            return false
        }
    }

    /// Waits until the client closes the connection.
    ///
    /// If the server closed first, a RST could make the client lose the reply (RFC 9112 §9.6).
    private func drain() async {
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
        var octets: [UInt8] = []
        while octets.count < Limits.drainedOctets {
            guard (try? await readMore(into: &octets)) == true else { break }
        }
    }

    // MARK: - Writing

    private func deliver(_ reply: Reply, keepsAlive: Bool) async throws -> Bool {
        if reply.delay > .zero { try await Task.sleep(for: reply.delay) }
        let body = reply.response.body
        switch reply.delivery {
        case .whole:
            try await send(reply.response, announcing: body.count, keepsAlive: keepsAlive)
            return keepsAlive

        case .truncated(let after):
            let kept = min(after ?? body.count / 2, body.count)
            var response = reply.response
            response.body = Array(body[..<kept])
            try await send(response, announcing: max(body.count, kept + 1), keepsAlive: false)

        case .filled(let total):
            let missing = max(0, total - body.count)
            try await send(reply.response, announcing: body.count + missing, keepsAlive: false)
            let block = Data(repeating: UInt8(ascii: "0"), count: Limits.writeOctets)
            for start in stride(from: 0, to: missing, by: block.count) {
                try await socket.write(block.prefix(missing - start))
            }

        case .noise:
            try await socket.write(Data(Self.noise))

        case .silence:
            var ignored: [UInt8] = []
            while try await readMore(into: &ignored) { ignored.removeAll(keepingCapacity: true) }

        case .close:
            break

        case .reset: try socket.socket.setValue(.zero, for: LingerOption())
        }
        return false
    }

    private func send(
        _ response: Response,
        announcing contentLength: Int,
        keepsAlive: Bool
    ) async throws {
        let head = response.head(
            date: emulator.clock.now,
            contentLength: contentLength,
            keepsAlive: keepsAlive
        )
        try await socket.write(Data(head + response.body))
    }

    // MARK: - Details

    private static let emptyLine = Array("\r\n\r\n".utf8)
    private static let noise = [0x00, 0x01, 0xFE, 0xFF] + Array("this is not HTTP\r\n\r\n".utf8)

    private static func text(of address: Socket.Address) -> String {
        switch address {
        case .ip4(let text, _), .ip6(let text, _): text
        case .unix: "0.0.0.0"
        }
    }
}

/// SO_LINGER option; with 0 s, close sends RST (`socket(7)`).
private struct LingerOption: SocketOption {
    let name = SO_LINGER
    func makeValue(from value: linger) -> Duration { .seconds(Int(value.l_linger)) }

    func makeSocketValue(from value: Duration) -> linger {
        linger(l_onoff: 1, l_linger: Int32(value.components.seconds))
    }
}
