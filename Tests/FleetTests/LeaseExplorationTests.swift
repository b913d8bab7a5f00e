// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Fleet

/// Three machines, the engine, and everything that is under way between them.
///
/// Commands of one machine reach the engine in order, and replies and messages reach the machine in
/// order; between machines every order is possible.
private struct World: Hashable {
    enum Command: Hashable { case read, claim, publish, release }

    struct Machine: Hashable {
        var lease: LeaseMachine?
        var isCrashed = false
        var commands: [Command] = []
        var replies: [LeaseMachine.Event] = []
        var hasMessage = false

        /// Number of answers that its client got or will get from its call.
        var answers = 0
        var calls = 0
        var hasFailed = false

        var waits: Bool {
            switch lease?.phase {
            case .reading, .claiming, .waiting: true
            case .calling, .done, nil: false
            }
        }
    }

    var machines = [Machine](repeating: Machine(), count: 3)
    var hasValue = false
    var holder: Int?

    /// Leaders since the lease was taken.
    var leaders: Set<Int> = []

    /// True if a value or a lease was lost, or a machine crashed or did not wait for the engine.
    var isDisturbed = false

    var failedCalls = 0

    enum Event: Hashable, CaseIterable {
        case start, execute, reply, message, answered, failed
        // Disturbances.
        case timeout, waitEnd, crash, leaseEnd, valueLost, connectionLost

        static let undisturbed: [Event] = [.start, .execute, .reply, .message, .answered, .failed]
    }
}

@Suite("One call for three machines, in every order of events")
struct LeaseExplorationTests {
    /// Returns nil if the event is impossible.
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
            world.isDisturbed = true
            take(.engineFailed, index, &world)
        case .waitEnd:
            guard machine.waits else { return nil }
            world.isDisturbed = true
            take(.waitEnded, index, &world)
        case .crash:
            guard machine.lease != nil, !state.machines.contains(where: \.isCrashed) else {
                return nil
            }
            world.isDisturbed = true
            world.machines[index].isCrashed = true
            world.machines[index].replies = []
            world.machines[index].hasMessage = false
        case .leaseEnd:
            guard state.holder == index else { return nil }
            world.isDisturbed = true
            world.holder = nil
            world.leaders = []
        case .valueLost:
            guard index == 0, state.hasValue else { return nil }
            world.isDisturbed = true
            world.hasValue = false
        case .connectionLost:
            guard !machine.commands.isEmpty || !machine.replies.isEmpty else { return nil }
            world.isDisturbed = true
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
            if isWon {
                world.holder = index
                world.leaders = []
            }
            world.machines[index].replies.append(
                .claimed(isWon: isWon, hasValue: world.hasValue)
            )
        case .publish:
            world.hasValue = true
            for other in world.machines.indices where other != index {
                if world.machines[other].lease != nil, !world.machines[other].isCrashed {
                    world.machines[other].hasMessage = true
                }
            }
        case .release:
            if world.holder == index {
                world.holder = nil
                world.leaders = []
            }
        }
    }

    private func take(_ event: LeaseMachine.Event, _ index: Int, _ world: inout World) {
        guard var lease = world.machines[index].lease else { return }
        let actions = lease.take(event)
        world.machines[index].lease = lease
        perform(actions, index, &world)
    }

    private func perform(
        _ actions: [LeaseMachine.Action],
        _ index: Int,
        _ world: inout World
    ) {
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
                if world.machines[index].lease?.phase == .calling(isLeader: true) {
                    world.leaders.insert(index)
                }
            }
        }
    }

    private func check(_ world: World, _ path: String) {
        // One machine leads in a lease period.
        #expect(world.leaders.count <= 1, "\(path)")
        for machine in world.machines {
            // A client gets one answer, and waits for nothing but a call or a timer.
            #expect(machine.answers <= 1 && machine.calls <= 1, "\(path)")
            #expect(machine.lease == nil || machine.waits == (machine.answers == 0), "\(path)")
            if machine.waits, var lease = machine.lease {
                #expect(lease.take(.waitEnded) == [.call], "\(path)")
            }
        }
        let calls = world.machines.reduce(0) { $0 + $1.calls }
        if !world.isDisturbed {
            #expect(calls <= 1 + world.failedCalls, "\(path)")
        }
        // Without anything under way, no lease is left, except that of a crashed machine.
        let isQuiet = world.machines.allSatisfy { machine in
            machine.commands.isEmpty && machine.replies.isEmpty
                && (machine.isCrashed || machine.lease?.phase == .done)
        }
        if isQuiet, let holder = world.holder {
            #expect(world.machines[holder].isCrashed, "\(path)")
        }
    }

    private func explore(_ events: [World.Event]) -> Int {
        var known: Set<World> = [World()]
        var frontier = [World()]
        while let state = frontier.popLast() {
            for event in events {
                for index in 0..<3 {
                    guard let next = follow(state, event, index) else { continue }
                    guard known.insert(next).inserted else { continue }
                    check(next, "\(event) of \(index) after \(state)")
                    frontier.append(next)
                }
            }
        }
        return known.count
    }

    @Test("while the engine works, one call serves all, and a failure allows one more")
    func undisturbed() {
        #expect(explore(World.Event.undisturbed) > 1_000)
    }

    @Test("slow engine and slow vendor: each client has one answer, and no lease is left")
    func late() {
        #expect(explore(World.Event.undisturbed + [.timeout, .waitEnd]) > 10_000)
    }

    @Test("a crash, an expired lease and a lost value never leave a client without an answer")
    func crashes() {
        let events: [World.Event] = [
            .start, .execute, .reply, .message, .answered, .waitEnd, .crash, .leaseEnd, .valueLost,
        ]
        #expect(explore(events) > 10_000)
    }
}
