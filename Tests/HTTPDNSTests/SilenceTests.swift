// SPDX-License-Identifier: Apache-2.0
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("A vendor of which nothing is heard")
struct SilenceTests {
    private let epoch = ContinuousClock().systemEpoch
    private let world = World()

    @Test("one trial a second begins, and anything heard ends the silence")
    func trials() {
        var silence = Silence(limit: 2)
        silence.lasted()
        #expect(!silence.isSilent)
        silence.lasted()
        #expect(silence.isSilent)
        let begun = [0, 999, 1_000, 1_999].map {
            silence.beginsTrial(at: epoch + .milliseconds($0))
        }
        #expect(begun == [true, false, true, false])
        silence.ended()
        #expect(!silence.isSilent)
        #expect(silence == Silence(limit: 2))
    }

    @Test("is silent when each server has let `retries-before-switch` tries wait in vain")
    @ServiceLoop
    func silent() async throws {
        world.script = { _ in .silence() }
        let client = try world.client()
        for number in 1...2 { _ = try await world.failure(client, "n\(number).example.com") }
        #expect(!client.isSilent)
        _ = try await world.failure(client, "n3.example.com")
        await world.advance(by: .seconds(3))
        #expect(client.isSilent)
        world.servers([:])
        _ = try await world.lookUp(client, "n4.example.com")
        #expect(!client.isSilent)
    }

    @Test("a server that refuses, or says that it is broken, is not silent")
    @ServiceLoop
    func loud() async throws {
        world.servers([1: .silence(), 2: .fail(.connect("refused"))])
        let client = try world.client()
        for number in 1...9 { _ = try await world.failure(client, "n\(number).example.com") }
        #expect(!client.isSilent)
    }
}
