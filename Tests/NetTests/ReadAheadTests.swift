// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Net

struct ReadAheadTests {
    @ServiceLoop
    @Test(arguments: BatchingServer.Ending.allCases)
    func
        `replies that arrive together all end, and the end of the connection after them is noticed`(
            _ ending: BatchingServer.Ending
        ) async throws
    {
        let client = HTTPClient()
        let server = try BatchingServer(of: 8, ending)
        var request = HTTPRequest(
            url: "https://\(Certificates.name)/",
            server: server.address
        )
        request.certificateFile = server.certificate.authorityFile
        request.isSentOnce = true
        // In about one of three rounds, libcurl stops before the last octet that was read ahead.
        for _ in 0..<15 {
            let replies = (0..<8).map { _ in
                ServiceLoop.throwingTask { [client, request] in
                    try await client.send(request, deadline: patience)
                }
            }
            for reply in replies { #expect(try await reply.value.status == 200) }
        }
    }
}
