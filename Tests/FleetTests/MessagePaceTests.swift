// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import Fleet

@Suite("Rate of messages")
struct MessagePaceTests {
    private func time(of count: Int, octets: Int, every interval: Duration) -> Duration {
        let start = Clock.now
        var now = start
        var pace = MessagePace(at: now)
        for _ in 0..<count {
            pace.note(octets)
            pace.noteMessage()
            now += max(interval, pace.pause(at: now))
        }
        return now - start
    }

    @Test(
        "a flood of messages is read at the permitted rate, whatever the size of the messages",
        arguments: [0, 4_096]
    )
    func flood(_ octets: Int) {
        let count = 20_000
        let cost = count * (octets + FleetLimits.messageCost) - FleetLimits.messageBurst
        let expected = Duration.seconds(Double(cost) / Double(FleetLimits.messageRate))
        let time = time(of: count, octets: octets, every: .zero)
        #expect(time > expected * 0.99 && time < expected * 1.01)
    }

    @Test("if a year passes without messages (a suspended machine), the next read does not wait")
    func longPause() {
        var pace = MessagePace(at: Clock.now)
        pace.note(100 << 20)
        #expect(pace.pause(at: Clock.now + .seconds(365 * 86_400)) == .zero)
    }

    @Test("a thousand answers per second are read without a pause")
    func usual() { #expect(time(of: 10_000, octets: 300, every: .milliseconds(1)) == .seconds(10)) }
}
