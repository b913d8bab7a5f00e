// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("Stored facts about the latest clients of a vendor")
struct StoredClientsTests {
    private let now: Int64 = 1_700_000_000
    private let day: Int64 = 86_400

    private func clients(_ notes: (ClientNetwork, Int64)...) -> StoredClients {
        var clients = StoredClients()
        for (client, time) in notes { clients.note(client, wallSeconds: time) }
        return clients
    }

    @Test("the facts are the same as those in memory, for each order of three clients")
    func sameAsInMemory() {
        let networks = [network(1), network(2), unproven(1)]
        for code in 0..<81 {
            var (stored, recent) = (StoredClients(), RecentClients())
            let start = Instant(nanoseconds: 0)
            func instant(_ hours: Int) -> Instant { start + .seconds(3_600 * hours) }
            func seconds(_ hours: Int) -> Int64 { now + 3_600 * Int64(hours) }
            let order = [code / 27, code / 9 % 3, code / 3 % 3, code % 3].map { networks[$0] }
            for (index, client) in order.enumerated() {
                stored.note(client, wallSeconds: seconds(index * 7))
                recent.note(client, now: instant(index * 7))
            }
            for hours in 21...48 {
                for client in networks {
                    let (at, wall) = (instant(hours), seconds(hours))
                    #expect(
                        stored.hasOthers(than: client, wallSeconds: wall)
                            == recent.hasOthers(than: client, now: at)
                    )
                    #expect(
                        stored.mustYield(client, wallSeconds: wall)
                            == recent.mustYield(client, now: at)
                    )
                }
            }
        }
    }

    @Test("a time in the future counts as now, until the next use at a correct time ends it")
    func clock() {
        var stored = clients((network(1), now + 400 * day), (unproven(1), now + 400 * day))
        for client in [network(1), unproven(1)] {
            #expect(stored.hasOthers(than: client, wallSeconds: now))
            #expect(stored.mustYield(client, wallSeconds: now))
        }
        stored.add(clients((unproven(1), now)), wallSeconds: now)
        #expect(stored.mustYield(unproven(1), wallSeconds: now + day - 1))
        #expect(!stored.mustYield(unproven(1), wallSeconds: now + day))
        #expect(!stored.hasOthers(than: unproven(1), wallSeconds: now + day))
        let early = clients((network(1), -5), (network(2), -5))
        #expect(early.hasOthers(than: network(1), wallSeconds: -5))
    }

    @Test("the clients of several processes count as clients of one vendor")
    func processes() {
        var stored = StoredClients()
        stored.add(StoredClients(), wallSeconds: now)
        #expect(stored == StoredClients())
        stored.add(clients((network(1), now)), wallSeconds: now)
        stored.add(clients((network(1), now + 1)), wallSeconds: now + 1)
        #expect(!stored.hasOthers(than: network(1), wallSeconds: now + 1))
        for (other, time) in [(network(2), now + 9), (network(2), now - 9)] {
            var both = stored
            both.add(clients((other, time)), wallSeconds: now + 9)
            for client in [network(1), other] {
                #expect(both.hasOthers(than: client, wallSeconds: now + 9), "\(time - now)")
                #expect(!both.mustYield(client, wallSeconds: now + 9))
            }
            both.add(clients((unproven(1), now + 9)), wallSeconds: now + 9)
            #expect(both.mustYield(unproven(1), wallSeconds: now + 9))
        }
    }
}
