// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("Signals and the service manager", .timeLimit(.minutes(15)))
struct ServiceManagerTests {
    @Test
    func `a blocked signal arrives in the stream of signals`() async {
        await #expect(processExitsWith: .success) {
            let code = ServiceLoop.run {
                ServiceLoop.blockSignals([SIGHUP, SIGTERM])
                guard let stream = try? ServiceLoop.signals([SIGHUP, SIGTERM]) else { return 1 }
                pthread_kill(pthread_self(), SIGTERM)
                for await signal in stream { return signal == SIGTERM ? 0 : 2 }
                return 3
            }
            try #require(code == 0)
        }
    }

    @Test
    func `notifications have the format of sd_notify`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = directory.path("notify")
            let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(try UnixAddress(path).bind(socket) == 0)
            setenv("NOTIFY_SOCKET", path, 1)
            setenv("WATCHDOG_USEC", "20000", 1)
            setenv("WATCHDOG_PID", "\(getpid())", 1)
            func next() -> String {
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = recv(socket, &buffer, buffer.count, 0)
                return String(decoding: buffer.prefix(count), as: UTF8.self)
            }
            await ServiceManager.ready(status: "serving\nREADY=0")
            try #require(next() == "READY=1\nSTATUS=serving READY=0")
            await ServiceManager.reloading()
            try #require(next().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            await ServiceManager.stopping()
            try #require(next() == "STOPPING=1")

            let watchdog = Task { @ServiceLoop in try await ServiceManager.feedWatchdog() }
            try #require(next() == "WATCHDOG=1")
            try #require(next() == "WATCHDOG=1")
            watchdog.cancel()
        }
    }

    @Test
    func `sockets from systemd have the names that systemd passes`() async {
        await #expect(processExitsWith: .success) {
            // Another test may close descriptor 3 during the call.
            var all: [ServiceManager.ListenDescriptor]?
            for _ in 0..<1000 where all == nil {
                if fcntl(3, F_GETFD) < 0 { try #require(dup2(0, 3) == 3) }
                setenv("LISTEN_PID", "\(getpid())", 1)
                setenv("LISTEN_FDS", "1", 1)
                setenv("LISTEN_FDNAMES", "dns-tcp", 1)
                all = try? await ServiceManager.listenDescriptors()
            }
            try #require(all == [.init(name: "dns-tcp", descriptor: 3)])
            let again = try await ServiceManager.listenDescriptors()
            try #require(again.isEmpty)
        }
    }
}
