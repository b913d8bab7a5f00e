// SPDX-License-Identifier: Apache-2.0
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Circuit breaker of an unresponsive vendor")
struct VendorCircuitBreakerTests {
    private let epoch = Instant(nanoseconds: 0)
    private let world = Simulation()

    @Test("a timeout of a client's query is a failure only if a later probe also times out")
    func confirmed() {
        var silence = VendorCircuitBreaker(limit: 2)
        silence.lasted(since: epoch)
        silence.lasted(since: epoch)
        #expect(!silence.isSilent)
        silence.confirmed(since: epoch + .seconds(1))
        #expect(silence.isSilent)
        silence.heard(at: epoch + .seconds(2))
        #expect(!silence.isSilent)
    }

    @Test("a failed probe confirms only the failures of earlier attempts")
    func order() {
        var silence = VendorCircuitBreaker(limit: 2)
        silence.confirmed(since: epoch + .seconds(1))
        silence.lasted(since: epoch + .seconds(1))
        silence.lasted(since: epoch + .seconds(2))
        #expect(!silence.isSilent)
        silence.lasted(since: epoch)
        #expect(silence.isSilent)
    }

    @Test("attempts that began before the latest reply do not count as failures")
    func receivedSince() {
        var silence = VendorCircuitBreaker(limit: 1)
        silence.heard(at: epoch + .seconds(1))
        silence.lasted(since: epoch)
        silence.confirmed(since: epoch + .milliseconds(500))
        #expect(!silence.isSilent)
        silence.lasted(since: epoch + .seconds(1))
        silence.confirmed(since: epoch + .seconds(1))
        #expect(silence.isSilent)
    }

    @Test("after an answered probe, or a burst of failed probes, the next probe must wait")
    func trials() {
        var trials = TrialSchedule(burst: 2)
        var begun: [Int] = []
        for tenth in 0..<50 where trials.isDue(at: epoch + .milliseconds(100 * tenth)) {
            trials.began(at: epoch + .milliseconds(100 * tenth))
            begun.append(tenth)
            #expect(!trials.isDue(at: epoch + .seconds(60)))
            if begun.count == 1 { trials.answered() } else { trials.failed() }
        }
        #expect(begun == [0, 10, 11, 21, 31, 41])
    }

    @Test("the breaker opens after `retries-before-switch` timeouts of each server")
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

    @Test(
        "the breaker opens if no server accepts connections, and closes when a server answers",
        arguments: [HTTPError.connect("refused"), .tls("expired")]
    )
    @ServiceLoop
    func unconnected(_ error: HTTPError) async throws {
        world.script = { _ in .fail(error) }
        let client = try world.client()
        for number in 1...2 { _ = try await world.failure(client, "n\(number).example.com") }
        #expect(!client.isSilent)
        _ = try await world.failure(client, "n3.example.com")
        #expect(client.isSilent)
        world.servers([:])
        client.beginTrial()
        await world.advance(by: .seconds(1))
        #expect(!client.isSilent)
    }

    @Test("if the server closes connections for some names, the breaker opens only if probes fail")
    @ServiceLoop
    func cutOff() async throws {
        world.script = {
            $0.url.contains("example.org") ? .fail(.cutOff(reused: false)) : .reply(good($0))
        }
        let client = try world.client()
        for number in 1...20 {
            _ = try await world.failure(client, "n\(number).example.org")
            await world.advance(by: .seconds(1))
        }
        #expect(!client.isSilent)
        #expect(client.statistics.servers.first?.isCurrent == true)
        world.script = { _ in .fail(.cutOff(reused: false)) }
        for number in 1...3 { _ = try await world.failure(client, "n\(number).example.com") }
        await world.advance(by: .seconds(3))
        #expect(client.isSilent)
    }

    @Test("while one server accepts connections, the breaker stays closed")
    @ServiceLoop
    func connected() async throws {
        world.servers([1: .fail(.tls("expired")), 2: .fail(.broken("not HTTP"))])
        let client = try world.client()
        for number in 1...9 { _ = try await world.failure(client, "n\(number).example.com") }
        #expect(!client.isSilent)
    }

    @Test("a server that returns an error counts as responsive")
    @ServiceLoop
    func loud() async throws {
        world.servers([1: .silence(), 2: .reply(HTTPReply(status: 502, body: []))])
        let client = try world.client()
        for number in 1...9 { _ = try await world.failure(client, "n\(number).example.com") }
        #expect(!client.isSilent)
    }

    @Test(
        "broken replies between timeouts do not keep the breaker closed",
        arguments: [HTTPError.broken("endless headers"), .bodyTooLarge(limit: 65_536)]
    )
    @ServiceLoop
    func broken(_ error: HTTPError) async throws {
        var requests = 0
        world.script = { _ in
            requests += 1
            return requests.isMultiple(of: 3) ? .fail(error) : .silence()
        }
        let client = try world.client(servers: 1)
        var silentFor = 0
        for number in 1...30 {
            _ = try await world.failure(client, "n\(number).example.com")
            await world.advance(by: .seconds(1))
            silentFor = client.isSilent ? silentFor + 1 : 0
        }
        #expect(silentFor >= 20)
    }

    @Test("broken replies to clients' names do not open the breaker")
    @ServiceLoop
    func brokenNames() async throws {
        world.script = {
            $0.url.contains("example.org") ? .fail(.broken("reset")) : .reply(good($0))
        }
        let client = try world.client()
        for number in 1...20 {
            _ = try await world.failure(client, "n\(number).example.org")
            #expect(!client.isSilent)
        }
    }
}
