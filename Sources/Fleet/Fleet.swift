// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Client of the fleet, in which hosts share the answers of vendors through a Redis server.
///
/// `Fleet.md` describes the protocol.
@ServiceLoop
package final class Fleet {
    /// Question to a vendor; the hosts share the answer.
    package struct Question: Sendable {
        package var name: Name

        package var families: Families

        /// All other facts on which the answer depends; see ``FleetKey``.
        package var view: String

        /// Longest time that a client waits for the fleet; nil if no client waits.
        package var patience: Duration?

        package init(_ name: Name, _ families: Families, view: String, patience: Duration?) {
            self.name = name
            self.families = families
            self.view = view
            self.patience = patience
        }
    }

    package enum Answer: Sendable {
        /// Answer that another host shared, and its age in seconds.
        case value(FleetValue, age: UInt32)

        /// This host must call the vendor.
        ///
        /// If there is a ticket, ``end(_:_:)`` must follow. `stale` is an expired shared answer,
        /// for use if no server answers.
        case call(Ticket?, stale: (value: FleetValue, age: UInt32)? = nil)
    }

    /// Vendor call of this host, for which other hosts may wait.
    package struct Ticket: Sendable {
        let key: FleetKey
        let number: UInt64
    }

    /// Receives answers from other hosts, for names that this host used recently.
    package var onPush: (@ServiceLoop (FleetValue, Name, _ view: String, _ age: UInt32) -> Void)?

    /// Applies a flush to cached answers that are at least `age` old.
    package var onFlush: (@ServiceLoop (FleetFlush, _ age: Duration) -> Void)?

    package var observer: (@ServiceLoop (FleetNotice) -> Void)?
    package var statistics = FleetStatistics()

    /// Name of this host, for statistics.
    package nonisolated let machine: MachineName

    /// This host refreshes answers earlier than configured, by this percentage of the TTL (0...9).
    package nonisolated var refreshSpread: UInt32 {
        UInt32(machine.text.utf8.reduce(UInt64(7)) { ($0 &* 31 &+ UInt64($1)) % 1_000_003 } % 10)
    }

    /// Seconds for which Redis stores an answer after the end of the TTL.
    package var staleWindow: UInt32 = 0

    /// Longest time for which a client waits for the vendor call of another host.
    package nonisolated let wait: Duration

    private let timeout: Duration
    let seal: FleetSeal
    let link: EngineLink
    let clocks: Clocks
    var lookUps: [FleetKey: FleetLookUp] = [:]
    private var began: UInt64 = 0
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.endWaits() }

    var names = RecentKeys(limit: FleetLimits.names)
    var flushes = FlushList()
    private var reported: Set<FleetRejection> = []
    let flushKey: [UInt8]

    package let budget: FleetBudget

    /// Creates the client; `start` connects to Redis.
    ///
    /// - Parameter identifier: random octets that distinguish hosts with the same name.
    package init(
        _ access: EngineAccess,
        _ seal: FleetSeal,
        machine: MachineName,
        identifier: [UInt8],
        wait: Duration,
        timeout: Duration,
        clocks: Clocks
    ) {
        self.seal = seal
        self.machine = machine
        self.wait = wait
        self.timeout = timeout
        self.clocks = clocks
        let identity = [Array(machine.text.utf8), identifier]
        func key(_ purpose: FleetSeal.Purpose, _ parts: [[UInt8]]) -> [UInt8] {
            let digest = seal.digest(purpose, parts).hexadecimal
            return Array("\(FleetKeys.prefix){\(digest)}".utf8)
        }
        flushKey = key(.members, [Array("flushes".utf8)])
        link = EngineLink(
            access,
            EngineLink.LinkKeys(
                probe: key(.probe, identity),
                members: key(.members, []),
                member: seal.digest(.machine, identity),
                flushes: flushKey
            ),
            timeout: timeout,
            clocks: clocks
        )
        budget = FleetBudget(link, seal, member: seal.digest(.machine, identity), clocks: clocks)
        link.onMessage = { [weak self] in self?.take($0) }
        link.onFlushes = { [weak self] in self?.takeStored($0) }
        link.onChange = { [weak self] in self?.changed($0) }
    }

    package func start() { link.start() }

    package func stop() {
        link.stop()
        (onPush, onFlush, observer) = (nil, nil, nil)
        for lookUp in Array(lookUps.values) { take(.engineFailed, lookUp) }
    }

    package func networkChanged() { link.networkChanged() }

    package var state: FleetState {
        var server: SocketAddress?
        if case .connected(let address) = link.state { server = address }
        return FleetState(
            isConnected: server != nil,
            server: server,
            since: link.since,
            lastError: link.lastError.map { "\($0)" },
            members: max(server == nil ? 0 : 1, link.members)
        )
    }

    private func changed(_ error: EngineError?) {
        guard let error else {
            if case .connected(let server) = link.state {
                budget.connected()
                observer?(.connected(server, after: link.lastError))
            }
            return
        }
        if error != .timedOut { statistics.errors += 1 }
        budget.lost()
        for lookUp in Array(lookUps.values) { take(.engineFailed, lookUp) }
        observer?(.alone(error))
    }

    func reject(_ reason: FleetRejection) {
        statistics.rejectedByReason[reason, default: 0] += 1
        if reported.insert(reason).inserted { observer?(.rejected(reason)) }
    }

    /// Time of the Redis clock in milliseconds since 1970.
    var now: Int64? { link.clock?.milliseconds(at: clocks.now()) }

    // MARK: - Lookups

    /// Returns a shared answer, or `call` if this host must call the vendor.
    package func ask(_ question: Question, _ completion: consuming Completion<Answer>) {
        guard link.isUsable else { return completion(.call(nil)) }
        let key = FleetKey(question.name, question.families, view: question.view, seal)
        if let pending = lookUps[key] {
            pending.add(completion, until: end(of: question))
            alarm.bring(forward: pending.waitEnd)
            return
        }
        began += 1
        let lookUp = FleetLookUp(key, question, number: began, waitEnd: end(of: question))
        if question.families != .both {
            lookUp.others = [FleetKey(question.name, .both, view: question.view, seal)]
        }
        for key in [key] + lookUp.others {
            names.note(key, RecentKeys.Subject(name: question.name, view: question.view))
        }
        lookUps[key] = lookUp
        lookUp.add(completion, until: lookUp.waitEnd)
        alarm.bring(forward: lookUp.waitEnd)
        perform([LeaseMachine.first], lookUp)
    }

    private func end(of question: Question) -> Instant {
        clocks.now() + (question.patience.map { $0 + timeout } ?? FleetLimits.refreshWait)
    }

    /// Reports the end of a vendor call, and shares the answer; a nil `value` means a failed call.
    package func end(_ ticket: Ticket, _ value: FleetValue?) {
        guard let lookUp = lookUps[ticket.key], lookUp.number == ticket.number else { return }
        lookUp.value = value.flatMap { stamped($0, at: lookUp.calledAt) }
        take(.callEnded(hasValue: lookUp.value != nil), lookUp)
    }

    /// Shares the answer of a vendor call that has no ``Ticket``.
    package func publish(_ question: Question, _ value: FleetValue) {
        guard link.isUsable, let value = stamped(value, at: now) else { return }
        let key = FleetKey(question.name, question.families, view: question.view, seal)
        publish(value, key, question.name, question.view)
    }

    /// Returns the answer with `time` and the name of this host; nil if the time is unknown.
    ///
    /// - Parameter time: start of the call, so that a flush during the call also removes the
    ///   answer.
    private func stamped(_ value: FleetValue, at time: Int64?) -> FleetValue? {
        guard let time else { return nil }
        var value = value
        value.fetchedAt = time
        value.machine = machine.text
        return value
    }

    private func endWaits() {
        let now = clocks.now()
        for lookUp in lookUps.values.filter({ $0.waits && $0.waitEnd <= now }) {
            if lookUp.machine.phase == .waiting { statistics.waitedInVain += 1 }
            take(.waitEnded, lookUp)
        }
        alarm.set(lookUps.values.lazy.filter(\.waits).map(\.waitEnd).min())
    }

    func take(_ event: LeaseMachine.Event, _ lookUp: FleetLookUp) {
        perform(lookUp.machine.take(event), lookUp)
    }

    private func perform(_ actions: [LeaseMachine.Action], _ lookUp: FleetLookUp) {
        for action in actions {
            switch action {
            case .read: read(lookUp)
            case .claim: claim(lookUp)
            case .use: use(lookUp)
            case .call: call(lookUp)
            case .publish:
                guard let value = lookUp.value else { break }
                publish(value, lookUp.key, lookUp.question.name, lookUp.question.view)
            case .release: release(lookUp)
            }
        }
        if lookUp.machine.phase == .done, lookUps[lookUp.key] === lookUp {
            lookUps[lookUp.key] = nil
        }
    }

    private func use(_ lookUp: FleetLookUp) {
        guard let value = lookUp.value, let now else {
            preconditionFailure("a shared answer is used before it was read")
        }
        for completion in lookUp.takeWaiting() {
            completion(.value(value, age: value.age(at: now)))
        }
    }

    private func call(_ lookUp: FleetLookUp) {
        if lookUp.machine.phase == .calling(isLeader: true) { statistics.led += 1 }
        lookUp.calledAt = now
        // Only the first query gets the ticket: the vendor client merges the calls of the other
        // queries with the call of the first query.
        var ticket: Ticket? = Ticket(key: lookUp.key, number: lookUp.number)
        let stale = lookUp.stale.flatMap { value in
            now.map { (value: value, age: value.age(at: $0)) }
        }
        for completion in lookUp.takeWaiting() {
            completion(.call(ticket, stale: stale))
            ticket = nil
        }
    }
}
