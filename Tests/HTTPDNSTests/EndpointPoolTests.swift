// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

@Suite("Which server is asked")
struct EndpointPoolTests {
    /// A pool of `count` servers that moves on after three failures.
    private func pool(_ count: Int, failuresBeforeSwitch: Int = 3) throws -> EndpointPool {
        let servers = try (1...count).map { try server("192.0.2.\($0):443") }
        return EndpointPool(servers: servers, failuresBeforeSwitch: failuresBeforeSwitch)
    }

    /// All servers of one call, in order.
    private func order(_ pool: EndpointPool) -> [Int] {
        var course = pool.begin()
        var order: [Int] = []
        while let next = pool.next(in: &course) { order.append(next) }
        return order
    }

    @Test("a call tries each server once, in the order of the settings")
    func order() throws {
        #expect(order(try pool(3)) == [0, 1, 2])
        #expect(order(try pool(1)) == [0])
        #expect(try pool(3).address(at: 1) == (try server("192.0.2.2:443")))
    }

    @Test("three failures in a row make the next server current")
    func switching() throws {
        var pool = try pool(3)
        #expect(pool.failed(0) == nil)
        #expect(pool.failed(0) == nil)
        #expect(pool.current == 0)
        #expect(pool.failed(0) == .switched(from: 0, to: 1))
        #expect(pool.current == 1)
        #expect(order(pool) == [1, 2, 0])
    }

    @Test("a success ends the row")
    func success() throws {
        var pool = try pool(2)
        for _ in 0..<10 {
            #expect(pool.failed(0) == nil)
            #expect(pool.failed(0) == nil)
            pool.succeeded(0)
        }
        #expect(pool.current == 0)
    }

    @Test("the current server stays current while it works, whatever the others do")
    func sticky() throws {
        var pool = try pool(3)
        for _ in 0..<10 {
            pool.succeeded(0)
            #expect(pool.failed(1) == nil)
            #expect(pool.failed(2) == nil)
        }
        #expect(pool.current == 0)
    }

    @Test("calls that fail together cause one switch, not several")
    func together() throws {
        var pool = try pool(3)
        let changes = (0..<50).compactMap { _ in pool.failed(0) }
        #expect(changes == [.switched(from: 0, to: 1)])
        #expect(pool.current == 1)
    }

    @Test("a server that becomes current starts without earlier failures")
    func afresh() throws {
        var pool = try pool(2)
        for _ in 0..<2 {
            _ = pool.failed(0)
            _ = pool.failed(1)
        }
        #expect(pool.failed(0) == .switched(from: 0, to: 1))
        #expect(pool.failed(1) == nil)
        #expect(pool.failed(1) == nil)
        #expect(pool.failed(1) == .switched(from: 1, to: 0))
    }

    @Test("after the last server comes the first")
    func round() throws {
        var pool = try pool(3, failuresBeforeSwitch: 1)
        #expect(pool.failed(0) == .switched(from: 0, to: 1))
        #expect(pool.failed(1) == .switched(from: 1, to: 2))
        #expect(pool.failed(2) == .switched(from: 2, to: 0))
    }

    @Test("an only server stays")
    func alone() throws {
        var pool = try pool(1)
        for _ in 0..<10 { #expect(pool.failed(0) == nil) }
        #expect(pool.current == 0)
    }
}
