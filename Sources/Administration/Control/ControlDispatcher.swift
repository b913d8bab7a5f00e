// SPDX-License-Identifier: Apache-2.0
package import Control
package import Logging
package import Net

/// Dispatcher of control calls, which uses no sockets and no clock.
package struct ControlDispatcher: Sendable {
    private let handler: any ControlHandling
    private let access: ControlAccess
    private let logger: Logger
    let queue: ManagementQueue

    /// One check runs at a time, because each check loads settings.
    let checks = ManagementQueue()

    package init(
        handler: any ControlHandling,
        access: ControlAccess,
        logger: Logger,
        queue: ManagementQueue = ManagementQueue()
    ) {
        self.handler = handler
        self.access = access
        self.logger = logger
        self.queue = queue
    }

    /// Sends a message and returns when the peer has accepted it.
    package typealias Send = @ServiceLoop ([UInt8]) async throws -> Void

    /// Answers a call: sends one message, several messages (flag `more`), or none (flag `oneway`).
    ///
    /// - Throws: the error of `send`, or `CancellationError` between replies.
    package func answer(
        _ call: Call,
        from peer: StreamConnection.Credentials,
        _ send: @escaping Send
    ) async throws {
        let last: [UInt8]
        do {
            last = try await results(of: call, from: peer) { message in
                do {
                    try await send(message)
                } catch {
                    throw Unsent(error: error)
                }
            }
        } catch let unsent as Unsent {
            throw unsent.error
        } catch let error as CancellationError {
            throw error
        } catch {
            let error = error as? MethodError ?? .failed(reason: "cannot encode the reply as JSON")
            if case .failed(let reason) = error {
                logger.error(
                    "control: \(call.method) failed: \(reason)",
                    metadata: ["method": "\(call.method)"]
                )
            }
            last = (try? Reply(error).message()) ?? [0]
        }
        if !call.oneway { try await send(last) }
    }

    // MARK: - Private

    /// If a reply is longer, the daemon returns free memory to the system after the encoding.
    private static let longOctets = 1024 * 1024

    private struct Unsent: Error {
        let error: any Error
    }

    private static func message(
        _ results: some Encodable & Sendable,
        continues: Bool = false
    ) async throws -> [UInt8] {
        let message = try await offLoop {
            try Reply.message(results: results, continues: continues)
        }
        guard message.count <= ControlLimits.replyOctets else {
            throw MethodError.failed(reason: "the reply is too large")
        }
        return message
    }

    private func message<Results: Encodable & Sendable>(
        for peer: StreamConnection.Credentials,
        _ read: @Sendable @ServiceLoop () async throws -> Results
    ) async throws -> [UInt8] {
        try await queue.run(for: peer.uid) { try await Self.message(try await read()) }
    }

    private func message(
        for peer: StreamConnection.Credentials,
        long read: @Sendable @ServiceLoop () throws -> LongReply<some Encodable & Sendable>
    ) async throws -> [UInt8] {
        try await queue.run(for: peer.uid) {
            let reply = try read()
            return try await offLoop {
                var isLong = true
                defer { if isLong { OwnProcess.returnFreeMemory() } }
                let message = try reply.message()
                isLong = message.count > Self.longOctets
                return message
            }
        }
    }

    private func part(
        _ results: some Encodable & Sendable,
        for peer: StreamConnection.Credentials
    ) async throws -> [UInt8] {
        try await queue.run(for: peer.uid) { try await Self.message(results, continues: true) }
    }

    /// Sends all replies except the last reply, and returns the last reply.
    private func results(
        of call: Call,
        from peer: StreamConnection.Credentials,
        _ sendMore: @escaping Send
    ) async throws -> [UInt8] {
        guard !call.upgrade else { throw MethodError.methodNotImplemented(call.method) }
        switch call.interface {
        case ControlInterface.name:
            guard let method = ControlInterface.Method(fullName: call.method) else {
                throw MethodError.methodNotFound(call.method)
            }
            return try await results(of: method, call, from: peer, sendMore)
        case ServiceInterface.name: return try await results(ofService: call)
        default: throw MethodError.interfaceNotFound(call.interface)
        }
    }

    private func results(
        of method: ControlInterface.Method,
        _ call: Call,
        from peer: StreamConnection.Credentials,
        _ sendMore: @escaping Send
    ) async throws -> [UInt8] {
        switch method {
        case .status:
            _ = try call.arguments(as: NoParameters.self)
            return try await message(for: peer) { try await handler.status() }
        case .stats:
            let request = try call.arguments(as: StatsRequest.self)
            if let interval = try request.interval() {
                try Self.allowMore(call)
                try await handler.stats(every: interval) {
                    try await sendMore(try await part($0, for: peer))
                }
            }
            let reset = request.reset ?? false
            if reset { try allowChange(call, by: peer) }
            return try await message(for: peer) { try await handler.stats(reset: reset) }
        case .flush:
            let request = try call.arguments(as: FlushRequest.self)
            let scope = try request.scope()
            try allowChange(call, by: peer)
            let reply = try await handler.flush(
                scope,
                soft: request.soft ?? false,
                fleet: request.fleet ?? false
            )
            return try await Self.message(reply)
        case .lookup:
            let request = try call.arguments(as: LookupRequest.self)
            let reply = try await queue.run(for: peer.uid) { try await handler.lookup(request) }
            guard !reply.entries.isEmpty else {
                let type = request.type.map { " " + $0 } ?? ""
                throw MethodError.notFound(what: request.name + type)
            }
            return try await Self.message(reply)
        case .explain:
            let request = try call.arguments(as: ExplainRequest.self)
            if request.live ?? false {
                try allowChange(call, by: peer)
                return try await Self.message(try await handler.explain(request, isLive: true))
            }
            return try await message(for: peer) {
                try await handler.explain(request, isLive: false)
            }
        case .resolve:
            let request = try call.arguments(as: ResolveRequest.self)
            let isStream = call.more && !call.oneway
            try request.check(isStream: isStream)
            try allowChange(call, by: peer)
            guard isStream else {
                return try await Self.message(try await handler.resolve(request, nil))
            }
            let last = try await handler.resolve(request) {
                try await sendMore(try await part($0, for: peer))
            }
            return try await Self.message(last)
        case .dump:
            _ = try call.arguments(as: NoParameters.self)
            try Self.allowMore(call)
            try allowPrivacy(call, to: peer)
            let last = try await handler.dump {
                try await sendMore(try await part($0, for: peer))
            }
            return try await Self.message(last)
        case .top:
            let (kind, count) = try call.arguments(as: TopRequest.self).selection()
            try allowPrivacy(call, to: peer)
            switch kind {
            case .cost: return try await message(for: peer) { try await handler.topCost(count) }
            case .slow: return try await message(for: peer) { try await handler.topSlow(count) }
            case .names, .misses, .fallback, .clients:
                return try await message(for: peer) {
                    try await handler.topQueries(kind, count: count)
                }
            }
        case .bill:
            let request = try call.arguments(as: BillRequest.self)
            if let vendor = request.reset {
                try allowChange(call, by: peer)
                let reply = try await handler.bill(request)
                logger.notice("vendor \(vendor): counts of billed units reset by an operator")
                return try await Self.message(reply)
            }
            // The bill contains names that clients queried, so the peer needs a permission.
            try allowPrivacy(call, to: peer)
            // Runs outside the queue, because `countByVendors` waits for vendors, and would block
            // the other calls in the queue.
            await handler.countByVendors()
            return try await message(for: peer) { try await handler.bill(request) }
        case .prove:
            let request = try call.arguments(as: ProveRequest.self)
            try allowChange(call, by: peer)
            guard call.more, !call.oneway else {
                return try await Self.message(try await handler.prove(request, nil))
            }
            let last = try await handler.prove(request) {
                try await sendMore(try await part($0, for: peer))
            }
            return try await Self.message(last)
        case .watch:
            let request = try call.arguments(as: WatchRequest.self)
            try Self.allowMore(call)
            try allowPrivacy(call, to: peer)
            try await handler.watch(request) { try await sendMore(try await part($0, for: peer)) }
            return try await Self.message(WatchReply(queries: []))
        case .pause:
            let subject = try call.arguments(as: PauseRequest.self).subject()
            try allowChange(call, by: peer)
            let change = try await handler.pause(subject)
            note(change, .pause, "paused by an operator until resumed")
            return try await Self.message(change)
        case .resume:
            let subject = try call.arguments(as: PauseRequest.self).subject()
            try allowChange(call, by: peer)
            let change = try await handler.resume(subject)
            note(change, .resume, "resumed by an operator")
            return try await Self.message(change)
        case .reload:
            _ = try call.arguments(as: NoParameters.self)
            try allowChange(call, by: peer)
            return try await Self.message(try await handler.reload())
        case .check:
            let request = try call.arguments(as: CheckRequest.self)
            // The reply describes settings and secret files, which the peer may not be allowed to
            // read.
            try allowChange(call, by: peer)
            let reply = try await checks.run(for: peer.uid) {
                // Skips the check if the control server has stopped while the check was in the
                // queue.
                try Task.checkCancellation()
                return try await handler.check(request)
            }
            return try await Self.message(reply)
        case .settings:
            _ = try call.arguments(as: NoParameters.self)
            try allow(call, by: peer, "read the settings")
            return try await message(for: peer, long: handler.settings)
        case .routes:
            let request = try call.arguments(as: RoutesRequest.self)
            return try await message(for: peer, long: { try handler.routes(request) })
        case .logLevel:
            let request = try call.arguments(as: LogLevelRequest.self)
            if request.level != nil { try allowChange(call, by: peer) }
            return try await Self.message(try await handler.logLevel(request))
        case .portal:
            let request = try call.arguments(as: PortalRequest.self)
            try allowChange(call, by: peer)
            return try await Self.message(try await handler.portal(request))
        case .version:
            _ = try call.arguments(as: NoParameters.self)
            return try await message(for: peer) { try await handler.version() }
        }
    }

    private func results(ofService call: Call) async throws -> [UInt8] {
        switch call.method {
        case ServiceInterface.getInfo:
            _ = try call.arguments(as: NoParameters.self)
            return try await Self.message(
                InfoReply(
                    vendor: Product.name,
                    product: Product.name,
                    version: Product.version,
                    url: Product.url,
                    interfaces: [ControlInterface.name, ServiceInterface.name]
                )
            )
        case ServiceInterface.getInterfaceDescription:
            let interface = try call.arguments(as: DescriptionRequest.self).interface
            switch interface {
            case ControlInterface.name:
                return try await Self.message(
                    DescriptionReply(description: ControlInterface.description)
                )
            case ServiceInterface.name:
                return try await Self.message(
                    DescriptionReply(description: ServiceInterface.description)
                )
            default: throw MethodError.interfaceNotFound(interface)
            }
        default: throw MethodError.methodNotFound(call.method)
        }
    }

    private static func allowMore(_ call: Call) throws(MethodError) {
        guard call.more, !call.oneway else { throw .expectedMore }
    }

    private func allowChange(
        _ call: Call,
        by peer: StreamConnection.Credentials
    ) throws(MethodError) {
        try allow(call, by: peer, "make changes")
        logger.info("control: \(call.method) by uid \(peer.uid), pid \(peer.pid)")
    }

    /// The metadata lets `LogLimiter` limit each subject and method separately.
    private func note(_ change: PauseReply, _ method: ControlInterface.Method, _ text: String) {
        logger.notice(
            "\(change.subject): \(text)",
            metadata: ["server": "\(change.subject)", "method": "\(method.rawValue)"]
        )
    }

    private func allowPrivacy(
        _ call: Call,
        to peer: StreamConnection.Credentials
    ) throws(MethodError) { try allow(call, by: peer, "read the queries of clients") }

    private func allow(
        _ call: Call,
        by peer: StreamConnection.Credentials,
        _ what: String
    ) throws(MethodError) {
        guard !access.mayChange(peer) else { return }
        logger.warning(
            "control: \(call.method) denied to uid \(peer.uid), gid \(peer.gid), pid \(peer.pid)",
            metadata: ["method": "\(call.method)", "uid": "\(peer.uid)"]
        )
        throw .denied(
            reason: "only root, the daemon's user and the group of the socket may \(what)"
        )
    }
}

extension PauseReply {
    fileprivate var subject: String {
        vendor.map { "vendor \($0)" } ?? "upstream \(upstream ?? "")"
    }
}
