// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Fleet

/// Three machines, Redis, and all commands, replies and messages in flight between them.
///
/// Commands of one machine reach Redis in order, and replies and messages reach the machine in
/// order; between machines, every order is possible.
private struct World {
    enum Command: Int { case read = 1, claim, publish, release }

    struct Machine {
        var lease: LeaseMachine?
        var isCrashed = false
        var commands: [Command] = []
        var replies: [LeaseMachine.Event] = []
        var hasMessage = false

        var answers = 0
        var calls = 0
        var hasFailed = false

        var holds = false

        var code: UInt64 {
            var code: UInt64 = isCrashed ? 1 : 0
            func add(_ value: Int, bits: UInt64) { code = code << bits | UInt64(value) }
            let phase =
                switch lease?.phase {
                case nil: 0
                case .reading: 1
                case .claiming: 2
                case .waiting: 3
                case .calling(isLeader: false): 4
                case .calling(isLeader: true): 5
                case .done: 6
                }
            add(phase, bits: 3)
            add(lease?.mayHold ?? false ? 1 : 0, bits: 1)
            for flag in [hasMessage, hasFailed, holds] { add(flag ? 1 : 0, bits: 1) }
            add(answers, bits: 2)
            add(calls, bits: 2)
            for index in 0..<4 {
                add(index < commands.count ? commands[index].rawValue : 0, bits: 3)
            }
            for index in 0..<3 {
                let reply: Int =
                    switch index < replies.count ? replies[index] : nil {
                    case .read(let hasValue): hasValue ? 1 : 2
                    case .claimed(let isWon, let hasValue): 3 + (isWon ? 2 : 0) + (hasValue ? 1 : 0)
                    default: 0
                    }
                add(reply, bits: 3)
            }
            return code
        }

        var waits: Bool {
            switch lease?.phase {
            case .reading, .claiming, .waiting: true
            case .calling, .done, nil: false
            }
        }
    }

    var machines = [Machine](repeating: Machine(), count: 3)
    var hasValue = false

    var holder: Int? { machines.firstIndex(where: \.holds) }

    /// The state, encoded as integers; the order of the machines has no effect.
    var key: [UInt64] {
        machines.map(\.code).sorted() + [
            (hasValue ? 1 : 0) | (isLate ? 2 : 0) | (isDisturbed ? 4 : 0)
                | (hasLostConnection ? 8 : 0) | UInt64(failedCalls) << 4 | UInt64(disturbances) << 8
        ]
    }

    var disturbances = 0
    static let maximumDisturbances = 1

    var isLate = false

    var isDisturbed = false

    var hasLostConnection = false

    var failedCalls = 0

    mutating func disturb() -> Bool {
        isDisturbed = true
        disturbances += 1
        return disturbances <= Self.maximumDisturbances
    }

    enum Event: Hashable, CaseIterable {
        case start, execute, reply, message, answered, failed
        case timeout, waitEnd, crash, leaseEnd, valueLost, connectionLost

        static let undisturbed: [Event] = [.start, .execute, .reply, .message, .answered, .failed]
    }
}

@Suite("One call for three machines, in every order of events")
struct LeaseExplorationTests {
    private func follow(_ state: World, _ event: World.Event, _ index: Int) -> World? {
        var world = state
        let machine = state.machines[index]
        if machine.isCrashed, event != .execute, event != .leaseEnd, event != .valueLost {
            return nil
        }
        switch event {
        case .start:
            guard machine.lease == nil else { return nil }
            world.machines[index].lease = LeaseMachine()
            perform([LeaseMachine.first], index, &world)
        case .execute:
            guard !machine.commands.isEmpty else { return nil }
            execute(world.machines[index].commands.removeFirst(), of: index, &world)
        case .reply:
            guard !machine.replies.isEmpty else { return nil }
            take(world.machines[index].replies.removeFirst(), index, &world)
        case .message:
            guard machine.hasMessage else { return nil }
            world.machines[index].hasMessage = false
            if machine.waits { take(.received, index, &world) }
        case .answered, .failed:
            guard case .calling? = machine.lease?.phase else { return nil }
            if event == .failed {
                guard !machine.hasFailed else { return nil }
                world.machines[index].hasFailed = true
                world.failedCalls += 1
            }
            take(.callEnded(hasValue: event == .answered), index, &world)
        case .timeout:
            guard machine.waits, machine.lease?.phase != .waiting else { return nil }
            world.isLate = true
            take(.engineFailed, index, &world)
        case .waitEnd:
            guard machine.waits else { return nil }
            world.isLate = true
            take(.waitEnded, index, &world)
        case .crash:
            guard machine.lease != nil, !state.machines.contains(where: \.isCrashed) else {
                return nil
            }
            guard world.disturb() else { return nil }
            world.machines[index].isCrashed = true
            world.machines[index].replies = []
            world.machines[index].hasMessage = false
        case .leaseEnd:
            guard machine.holds else { return nil }
            guard world.disturb() else { return nil }
            world.machines[index].holds = false
        case .valueLost:
            guard index == 0, state.hasValue else { return nil }
            guard world.disturb() else { return nil }
            world.hasValue = false
        case .connectionLost:
            guard !machine.commands.isEmpty || !machine.replies.isEmpty else { return nil }
            guard world.disturb() else { return nil }
            world.hasLostConnection = true
            world.machines[index].commands = []
            world.machines[index].replies = []
            if machine.waits { take(.engineFailed, index, &world) }
        }
        return world
    }

    private func execute(_ command: World.Command, of index: Int, _ world: inout World) {
        switch command {
        case .read: world.machines[index].replies.append(.read(hasValue: world.hasValue))
        case .claim:
            let isWon = world.holder == nil
            if isWon { world.machines[index].holds = true }
            world.machines[index].replies.append(.claimed(isWon: isWon, hasValue: world.hasValue))
        case .publish:
            world.hasValue = true
            for other in world.machines.indices where other != index {
                if world.machines[other].lease != nil, !world.machines[other].isCrashed {
                    world.machines[other].hasMessage = true
                }
            }
        case .release:
            world.machines[index].holds = false
        }
    }

    private func take(_ event: LeaseMachine.Event, _ index: Int, _ world: inout World) {
        guard var lease = world.machines[index].lease else { return }
        let actions = lease.take(event)
        world.machines[index].lease = lease
        perform(actions, index, &world)
    }

    private func perform(_ actions: [LeaseMachine.Action], _ index: Int, _ world: inout World) {
        for action in actions {
            switch action {
            case .read: world.machines[index].commands.append(.read)
            case .claim: world.machines[index].commands.append(.claim)
            case .publish: world.machines[index].commands.append(.publish)
            case .release: world.machines[index].commands.append(.release)
            case .use: world.machines[index].answers += 1
            case .call:
                world.machines[index].answers += 1
                world.machines[index].calls += 1
            }
        }
    }

    private func violation(_ world: World) -> String? {
        for machine in world.machines {
            guard machine.answers <= 1, machine.calls <= 1,
                machine.lease == nil || machine.waits == (machine.answers == 0)
            else { return "a client gets one answer, and waits only before it" }
            if machine.waits, var lease = machine.lease, lease.take(.waitEnded) != [.call] {
                return "the end of the wait ends the wait"
            }
        }
        let leaders = world.machines.count { $0.lease?.phase == .calling(isLeader: true) }
        if !world.isDisturbed, leaders > 1 { return "one machine leads" }
        let calls = world.machines.reduce(0) { $0 + $1.calls }
        if !world.isDisturbed, !world.isLate, calls > 1 + world.failedCalls {
            return "one call serves all, and a failure allows one more"
        }
        let isQuiet = world.machines.allSatisfy { machine in
            machine.commands.isEmpty && machine.replies.isEmpty
                && (machine.isCrashed || machine.lease?.phase == .done)
        }
        let mayBeLost = world.hasLostConnection
        if isQuiet, !mayBeLost, let holder = world.holder, !world.machines[holder].isCrashed {
            return "no lease is left, except that of a crashed machine"
        }
        return nil
    }

    private func explore(_ events: [World.Event]) throws -> Int {
        var known: Set = [World().key]
        var frontier = [World()]
        while let state = frontier.popLast() {
            for event in events {
                for index in 0..<3 {
                    guard let next = follow(state, event, index) else { continue }
                    guard known.insert(next.key).inserted else { continue }
                    if let violation = violation(next) {
                        Issue.record("\(violation): \(event) of \(index) after \(state)")
                        return 0
                    }
                    frontier.append(next)
                }
            }
        }
        return known.count
    }

    @Test("while Redis works, all machines share one call, plus one call for each failed call")
    func undisturbed() throws { #expect(try explore(World.Event.undisturbed) > 500) }

    @Test("if Redis or a vendor is slow, each client gets one answer, and the lease is released")
    func late() throws {
        #expect(try explore(World.Event.undisturbed + [.timeout, .waitEnd]) > 10_000)
    }

    @Test("a crash, an expired lease and a lost value never leave a client without an answer")
    func crashes() throws {
        let events: [World.Event] = [
            .start, .execute, .reply, .message, .answered, .waitEnd, .crash, .leaseEnd, .valueLost,
            .connectionLost,
        ]
        #expect(try explore(events) > 10_000)
    }
}
