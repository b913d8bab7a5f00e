// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Resolver

/// Plays sequences of up to eight events.
@Suite("Answers for one name under every sequence of events", .timeLimit(.minutes(15)))
struct StaleExplorationTests {
    private enum Event: CaseIterable {
        case ask

        /// From now on, the servers reply after 20 ms (`good`), do not reply (`silent`), or reply
        /// with status 500 (`failing`).
        case good, silent, failing

        /// 300 ms pass, after which a client gets a stale answer (`wait`).
        case wait, expire

        case network
    }

    private struct Client {
        let asked: Asked
        let hadStale: Bool
        var isChecked = false
    }

    @ServiceLoop
    private final class Play {
        let harness: ResolverHarness
        var clients: [Client] = []
        var hasEverHad = false
        let question: Question

        init() throws {
            var freshness = Freshness()
            freshness.prefetch?.at = 75
            harness = try ResolverHarness(.tencent, upstream: nil, freshness: freshness)
            question = Question(name: Name("www.example.com"), type: .a)
        }

        var fault: Fault? {
            didSet { for number in 1...2 { harness.faults["tencent \(number)"] = fault } }
        }

        var fresh: FreshAnswer? {
            harness.cache.freshAnswer(for: question, variant: .any, now: harness.world.now)
        }

        var stale: StaleAnswer? {
            harness.cache.staleAnswer(
                for: question,
                variant: .any,
                ttl: 30,
                now: harness.world.now
            )
        }

        func happen(_ event: Event) async throws {
            switch event {
            case .ask: try await ask()
            case .good: fault = nil
            case .silent: fault = .silent()
            case .failing: fault = .status(500)
            case .wait: await harness.world.advance(by: .milliseconds(300))
            case .expire: await harness.world.advance(by: .seconds(50))
            case .network:
                harness.networkChanged()
                for vendor in harness.vendors { _ = vendor.networkChanged() }
            }
            if fresh?.answer.rcode == .noError { hasEverHad = true }
        }

        private func ask() async throws {
            if let hit = try harness.hit(question.name) {
                #expect(hit.rcode == .noError || !hasEverHad)
                await harness.world.advance(by: .milliseconds(30))
                return
            }
            clients.append(
                Client(
                    asked: harness.begin(question.name),
                    hadStale: stale.map { $0.answer.rcode == .noError } ?? false
                )
            )
            await harness.world.advance(by: .milliseconds(30))
        }

        func check(_ path: [Event]) {
            let now = harness.world.now
            for index in clients.indices {
                let client = clients[index]
                let waited = (client.asked.operation.end ?? now) - client.asked.operation.start
                #expect(waited <= ResolverLimits.total + ResolverLimits.grain, "\(path)")
                if client.hadStale {
                    #expect(waited <= .milliseconds(300) + ResolverLimits.grain, "\(path)")
                }
                guard let told = client.asked.operation.value, !client.isChecked else { continue }
                clients[index].isChecked = true
                #expect(!client.hadStale || !told.isFailure, "\(path)")
                let saysSo = told.explanation.map {
                    [.staleAnswer, .staleNXDomainAnswer].contains($0.code)
                }
                #expect(told.provenance.isStale == (saysSo ?? false), "\(path)")
            }
            for vendor in harness.vendors {
                let statistics = vendor.statistics
                #expect(statistics.inFlight + statistics.queued <= 1, "\(path)")
            }
            let refreshes = harness.resolver.statistics.refreshes
            let ended = refreshes.done + refreshes.failed
            #expect(refreshes.started - ended <= 1, "\(path)")
            if hasEverHad { #expect(stale?.answer.rcode == .noError, "\(path)") }
        }

        var look: String {
            let now = harness.world.now
            let waiting = clients.filter { $0.asked.operation.value == nil }
                .map { "\(Self.age(now - $0.asked.operation.start)) \($0.hadStale)" }
            let vendor = harness.vendors[0].statistics
            let servers = vendor.servers.map { "\($0.isCurrent) \($0.failuresInRow)" }
            let held = stale.map { "\($0.isHeld) \($0.expiredFor == nil)" } ?? "-"
            let calls = harness.world.sent.suffix(2).map { harness.world.elapsed - $0.at }
                .filter { $0 < .milliseconds(4_900) }.map(Self.age)
            return
                "\(harness.kept(question.name)) \(held) \(Set(waiting).sorted()) "
                + "\(vendor.inFlight) \(servers) \(calls) \(hasEverHad)"
        }

        private static func age(_ time: Duration) -> Int { time.milliseconds / 100 }
    }

    private struct End: Hashable {
        var servers = Event.good
        var look = ""
    }

    @Test("after up to eight events in any order, clients get their answers in time")
    @ServiceLoop
    func explore() async throws {
        var known: Set<End> = []
        var frontier: [(path: [Event], end: End)] = [([], End())]
        var played = 0
        for _ in 1...8 {
            var next: [(path: [Event], end: End)] = []
            for (path, end) in frontier {
                for event in Event.allCases where event != end.servers {
                    let path = path + [event]
                    var end = end
                    if Self.isAboutServers(event) {
                        end.servers = event
                    } else {
                        end.look = try await look(after: path)
                        played += 1
                    }
                    if known.insert(end).inserted { next.append((path, end)) }
                }
            }
            frontier = next
        }
        #expect(known.count > 150, "of \(played)")
    }

    @ServiceLoop
    private func look(after path: [Event]) async throws -> String {
        let play = try Play()
        for event in path { try await play.happen(event) }
        play.check(path)
        let look = play.look
        await play.harness.world.advance(by: .seconds(6))
        play.check(path)
        let isAnswered = play.clients.allSatisfy { $0.isChecked }
        #expect(isAnswered, "\(path)")
        return look
    }

    private static func isAboutServers(_ event: Event) -> Bool {
        [.good, .silent, .failing].contains(event)
    }
}
