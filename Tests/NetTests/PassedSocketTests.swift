// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("Sockets from systemd", .timeLimit(.minutes(15)))
struct PassedSocketTests {
    private func passed(_ descriptor: Int32) -> ServiceManager.ListenDescriptor {
        .init(name: "dns", descriptor: dup(descriptor))
    }

    @ServiceLoop
    private func complaint(
        _ family: Int32,
        _ type: __socket_type,
        boundTo address: SocketAddress? = nil
    ) throws -> String? {
        let descriptor = socket(family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        if let address {
            try #require(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
        }
        do {
            _ = try PassedSocket(.init(name: "dns", descriptor: descriptor))
            return nil
        } catch {
            return "\(error)"
        }
    }

    @ServiceLoop
    @Test
    func `the address and the type of a passed socket are read from the socket`() throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let datagrams = try DatagramListener(binding: any, shared: false)
        let first = try PassedSocket(passed(datagrams.descriptor))
        defer { close(first.descriptor) }
        #expect(first.address == datagrams.address)
        #expect(first.transport == .datagrams)
        let listening = try ListeningSocket()
        let second = try PassedSocket(passed(listening.descriptor))
        defer { close(second.descriptor) }
        #expect(second.address == listening.address)
        #expect(second.transport == .streams)
    }

    @ServiceLoop
    @Test
    func `an unusable socket is rejected with a reason`() throws {
        let four = try #require(SocketAddress("127.0.0.1:0"))
        let six = try #require(SocketAddress("[::]:0"))
        #expect(
            try complaint(AF_INET, SOCK_STREAM, boundTo: four)
                == "the socket `dns` from systemd does not listen; set `Accept=no` in its unit"
        )
        for (family, type) in [(AF_UNIX, SOCK_DGRAM), (AF_INET, SOCK_DGRAM)] {
            #expect(
                try complaint(family, type)?.contains("is not bound to an IP address") == true
            )
        }
        #expect(
            try complaint(AF_INET6, SOCK_DGRAM, boundTo: six)?.contains("BindIPv6Only=ipv6-only")
                == true
        )
    }

    @ServiceLoop
    @Test
    func `a worker with an adopted socket ends without shutting down the socket`() async throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let held = try DatagramListener(binding: any, shared: false)
        // The second round proves that no shutdown(2) made the socket unreadable.
        for octet: UInt8 in [1, 2] {
            let socket = try PassedSocket(passed(held.descriptor))
            let adopted = try DatagramListener(adopting: socket)
            #expect(adopted.isAdopted)
            let (lengths, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            let thread = try WorkerThread(named: "reader") {
                var batch = DatagramBatch(for: adopted)
                while batch.receive(from: adopted) > 0 {
                    continuation.yield(batch.copy(0).octets)
                }
                continuation.finish()
            }
            let client = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            defer { close(client) }
            let sent = held.address.withSockaddr { sendto(client, [octet], 1, 0, $0, $1) }
            #expect(sent == 1)
            var iterator = lengths.makeAsyncIterator()
            #expect(await iterator.next() == [octet])
            adopted.stopReceiving()
            thread.joinInterrupting()
            #expect(await iterator.next() == nil)
        }
    }
}
