// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Glibc

/// DNS client that queries a given server, without the system resolver.
enum Probe {
    enum Outcome: Equatable, Sendable {
        case answer(RCode, [IPAddress])
        case silence
        case fault(String)
    }

    enum Transport: String, CaseIterable, Sendable {
        case udp, tcp
    }

    static func ask(
        _ server: ServerAddress,
        _ name: Name,
        _ type: RecordType = .a,
        over transport: Transport = .udp,
        within limit: Duration = .seconds(2)
    ) -> Outcome {
        var header = Header(id: UInt16.random(in: .min ... .max))
        header.recursionDesired = true
        let question = Question(name: name, type: type)
        let query = Message(header: header, questions: [question], edns: EDNS(udpPayloadSize: 1232))
        let deadline = ContinuousClock.now.advanced(by: limit)
        let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
        let descriptor = socket(
            server.isIPv6 ? AF_INET6 : AF_INET,
            Int32(kind.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0
        )
        guard descriptor >= 0 else { return .fault(systemMessage(errno)) }
        defer { close(descriptor) }
        guard connect(descriptor, to: server) == 0 || errno == EINPROGRESS else {
            return .fault(systemMessage(errno))
        }
        var octets = query.encoded()
        if transport == .tcp {
            octets = [UInt8(octets.count >> 8), UInt8(octets.count & 0xFF)] + octets
        }
        guard Readiness.wait(descriptor, for: POLLOUT, until: deadline) == 0 else {
            return .silence
        }
        // SAFETY: send(2) reads at most the count of the array.
        guard unsafe send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL)) >= 0
        else { return .fault(systemMessage(errno)) }
        return reply(on: descriptor, to: question, header.id, transport, until: deadline)
    }

    // MARK: - Private

    private static func reply(
        on descriptor: Int32,
        to question: Question,
        _ id: UInt16,
        _ transport: Transport,
        until deadline: ContinuousClock.Instant
    ) -> Outcome {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var received: [UInt8] = []
        while Readiness.wait(descriptor, for: POLLIN, until: deadline) == 0 {
            // SAFETY: recv(2) writes at most `buffer.count` octets, the size of the array.
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { return .fault(systemMessage(errno)) }
            guard count > 0 || transport == .udp else { return .fault("connection closed") }
            received = transport == .udp ? Array(buffer[..<count]) : received + buffer[..<count]
            if transport == .tcp {
                guard received.count >= 2 else { continue }
                guard received.count >= 2 + Int(received[0]) << 8 + Int(received[1]) else {
                    continue
                }
            }
            let octets = transport == .udp ? received : Array(received.dropFirst(2))
            guard let message = try? Message(parsing: octets), message.header.id == id,
                message.header.isResponse, message.question == question
            else {
                guard transport == .udp else { return .fault("malformed reply") }
                continue
            }
            let addresses = message.answers.compactMap { record -> IPAddress? in
                switch record.data {
                case .a(let address): .v4(address)
                case .aaaa(let address): .v6(address)
                default: nil
                }
            }
            return .answer(message.rcode, addresses)
        }
        return .silence
    }

    private static func connect(_ descriptor: Int32, to server: ServerAddress) -> Int32 {
        var octets = [UInt8](repeating: 0, count: server.isIPv6 ? 28 : 16)
        let family = UInt16(server.isIPv6 ? AF_INET6 : AF_INET)
        // SAFETY: the family has two octets, the array at least 16.
        unsafe octets.withUnsafeMutableBytes { unsafe $0.storeBytes(of: family, as: UInt16.self) }
        octets[2] = UInt8(server.port >> 8)
        octets[3] = UInt8(server.port & 0xFF)
        let start = server.isIPv6 ? 8 : 4
        octets.replaceSubrange(
            start..<start + server.address.octets.count,
            with: server.address.octets
        )
        // SAFETY: the array has the layout of a socket address, and is passed with its length.
        return unsafe octets.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) {
                unsafe Glibc.connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
            }
        }
    }
}
