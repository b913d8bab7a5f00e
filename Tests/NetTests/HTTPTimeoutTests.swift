// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Net

@Suite("A request that times out", .timeLimit(.minutes(15)))
struct HTTPTimeoutTests {
    init() { ServiceLoop.start() }

    @ServiceLoop
    @Test
    func `leaves the sockets alone that are opened by whoever is told`() async throws {
        let silent = try ListeningSocket()
        let client = HTTPClient(limits: patientLimits)
        let request = HTTPRequest(url: "http://vendor.example.com/", server: silent.address)
        var sockets: [DatagramClient] = []
        let waiter = Waiter()
        _ = client.send(request, deadline: Clock.now + .milliseconds(50)) { _ in
            // libcurl has just closed its socket: one of these gets its number.
            while sockets.count < 64,
                let socket = try? DatagramClient(connectedTo: silent.address)
            {
                sockets.append(socket)
            }
            waiter.resume(.ready)
        }
        _ = await waiter.wait(until: nil)
        #expect(sockets.count == 64)
        for socket in sockets {
            // Else it is a broken pipe.
            #expect(throws: Never.self) { try socket.send([1]) }
        }
    }
}
