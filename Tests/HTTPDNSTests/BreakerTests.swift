// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Circuit breaker of a server that returned 429 (RFC 6585 §4)")
struct BreakerTests {
    private let epoch = Instant(nanoseconds: 0)

    @Test("without Retry-After, each 429 doubles the pause, from 1 s to 1 min; an answer resets it")
    func doubling() {
        var breaker = Breaker()
        var now = epoch
        var pauses: [Int] = []
        for number: UInt64 in 1...9 {
            #expect(breaker.admits(at: now))
            breaker.began(number)
            breaker.limited(number, retryAfter: nil, last: number, now: now)
            let until = breaker.openUntil ?? now
            pauses.append((until - now).milliseconds / 1_000)
            #expect(!breaker.admits(at: until - .milliseconds(1)))
            now = until
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        breaker.began(10)
        breaker.answered(10)
        #expect(breaker == Breaker())
    }

    @Test("the Retry-After of a 429 replaces the default pause")
    func retryAfter() {
        var breaker = Breaker()
        breaker.limited(1, retryAfter: .seconds(600), last: 1, now: epoch)
        #expect(breaker.openUntil == epoch + .seconds(600))
    }

    @Test("several 429s of concurrent calls count as one 429, with the longest pause")
    func together() {
        var breaker = Breaker()
        for number: UInt64 in 1...20 {
            breaker.limited(number, retryAfter: nil, last: 30, now: epoch)
        }
        #expect(breaker.openUntil == epoch + .seconds(1))
        breaker.limited(21, retryAfter: .seconds(9), last: 30, now: epoch)
        breaker.limited(22, retryAfter: .seconds(3), last: 30, now: epoch)
        #expect(breaker.openUntil == epoch + .seconds(9))
        breaker.answered(23)
        #expect(!breaker.admits(at: epoch))
    }

    @Test("after a pause, the breaker admits one probe at a time")
    func trial() {
        var breaker = Breaker()
        breaker.limited(1, retryAfter: nil, last: 1, now: epoch)
        let later = epoch + .seconds(1)
        #expect(breaker.admits(at: later))
        breaker.began(2)
        #expect(!breaker.admits(at: later))
        breaker.ended(2)
        #expect(breaker.admits(at: later))
    }
}
