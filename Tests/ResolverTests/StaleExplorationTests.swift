// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Resolver

/// Every sequence of up to eight events around one name, and what must hold after each.
///
/// A house cannot be copied, so each sequence is played from its beginning, and none is continued
/// whose end looks as another's did: same cache, same people waiting, same calls under way, same
/// record of the servers.  A server that changes its mind is seen by the next call only, so no
/// sequence is played for that alone.
@Suite("What a client is told of a name, whatever happens to its vendor", .timeLimit(.minutes(15)))
struct StaleExplorationTests {
    init() { ServiceLoop.start() }

    /// What can happen.
    private enum Event: CaseIterable {
        /// A client asks.
        case ask

        /// The vendor's servers answer in 20 ms, never, or with 500.
        case good, silent, failing

        /// Time passes: what a client waits for a better answer, and the rest of a minute's answer.
        case wait, expire

        case network
    }

    /// A client's question, and whether there was an old answer to it when he asked.
    private struct Client {
        let asked: Asked
        let hadStale: Bool
        var isChecked = false
    }

    /// A house in which events have happened.
    @ServiceLoop
    private final class Play {
        let house: House
        var clients: [Client] = []
        var hasEverHad = false
        let question: Question

        init() throws {
            var freshness = Freshness()
            freshness.prefetch?.at = 75
            house = try House(.tencent, upstream: nil, freshness: freshness)
            question = Question(name: Name("www.example.com"), type: .a)
        }

        /// How the servers are.
        var fault: Fault? {
            didSet { for number in 1...2 { house.faults["tencent \(number)"] = fault } }
        }

        var fresh: FreshAnswer? {
            house.cache.freshAnswer(for: question, variant: .any, now: house.world.now)
        }

        var stale: StaleAnswer? {
            house.cache.staleAnswer(
                for: question,
                variant: .any,
                ttl: 30,
                now: house.world.now
            )
        }

        func happen(_ event: Event) async throws {
            switch event {
            case .ask: try await ask()
            case .good: fault = nil
            case .silent: fault = .silent()
            case .failing: fault = .status(500)
            case .wait: await house.world.advance(by: .milliseconds(300))
            case .expire: await house.world.advance(by: .seconds(50))
            case .network:
                house.networkChanged()
                for vendor in house.vendors { _ = vendor.networkChanged() }
            }
            if fresh?.answer.rcode == .noError { hasEverHad = true }
        }

        private func ask() async throws {
            // As a worker does it, whose hit wants a refresh when it is due.
            if let hit = try house.hit(question.name) {
                #expect(hit.rcode == .noError || !hasEverHad)
                await house.world.advance(by: .milliseconds(30))
                return
            }
            clients.append(
                Client(
                    asked: house.begin(question.name),
                    hadStale: stale.map { $0.answer.rcode == .noError } ?? false
                )
            )
            await house.world.advance(by: .milliseconds(30))
        }

        /// What holds after every event.
        func check(_ path: [Event]) {
            let now = house.world.now
            for index in clients.indices {
                let client = clients[index]
                let waited = (client.asked.errand.end ?? now) - client.asked.errand.start
                // Nobody waits longer than he may: 300 ms where an old answer is held.
                #expect(waited <= ResolverLimits.total + ResolverLimits.grain, "\(path)")
                if client.hadStale {
                    #expect(waited <= .milliseconds(300) + ResolverLimits.grain, "\(path)")
                }
                guard let told = client.asked.errand.value, !client.isChecked else { continue }
                clients[index].isChecked = true
                // Who has been answered once is never left without an answer.
                #expect(!client.hadStale || !told.isFailure, "\(path)")
                // An old answer says that it is one, and nothing else does.
                let saysSo = told.explanation.map {
                    [.staleAnswer, .staleNXDomainAnswer].contains($0.code)
                }
                #expect(told.provenance.isStale == (saysSo ?? false), "\(path)")
            }
            // One call at a time, whoever waits for it.
            for vendor in house.vendors {
                let statistics = vendor.statistics
                #expect(statistics.inFlight + statistics.queued <= 1, "\(path)")
            }
            // A refresh ends as it must, and no more than one is under way.
            let refreshes = house.resolver.refreshing.numbers
            let ended = refreshes.done + refreshes.failed
            #expect(refreshes.started - ended <= 1, "\(path)")
            // What was once known stays known for a day, whatever fails.
            if hasEverHad { #expect(stale?.answer.rcode == .noError, "\(path)") }
        }

        /// What decides on what can follow, but for how the servers are.
        var look: String {
            let now = house.world.now
            let waiting = clients.filter { $0.asked.errand.value == nil }
                .map { "\(Self.age(now - $0.asked.errand.start)) \($0.hadStale)" }
            let vendor = house.vendors[0].statistics
            let servers = vendor.servers.map { "\($0.isCurrent) \($0.failuresInRow)" }
            // How long ago it has expired does not matter for a day.
            let held = stale.map { "\($0.isHeld) \($0.expiredFor == nil)" } ?? "-"
            let calls = house.world.sent.suffix(2).map { house.world.elapsed - $0.at }
                .filter { $0 < .milliseconds(4_900) }.map(Self.age)
            return
                "\(house.kept(question.name)) \(held) \(Set(waiting).sorted()) "
                + "\(vendor.inFlight) \(servers) \(calls) \(hasEverHad)"
        }

        /// A time in tenths of a second: nothing is decided by less.
        private static func age(_ time: Duration) -> Int { time.milliseconds / 100 }
    }

    /// An end of a sequence, as far as it decides on what can follow.
    private struct End: Hashable {
        var servers = Event.good
        var look = ""
    }

    @Test("eight events in any order break no promise")
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

    /// Plays a sequence, and what is under way then to its end, as it must before its house ends.
    @ServiceLoop
    private func look(after path: [Event]) async throws -> String {
        let play = try Play()
        for event in path { try await play.happen(event) }
        play.check(path)
        let look = play.look
        await play.house.world.advance(by: .seconds(6))
        play.check(path)
        let isAnswered = play.clients.allSatisfy { $0.isChecked }
        #expect(isAnswered, "\(path)")
        return look
    }

    private static func isAboutServers(_ event: Event) -> Bool {
        [.good, .silent, .failing].contains(event)
    }
}
