// SPDX-License-Identifier: Apache-2.0
package import Control
package import Logging
package import Net

/// From one message to its reply: no sockets, no clock.
package struct ControlDispatcher: Sendable {
    /// Who does what is asked.
    private let handler: any ControlHandling

    /// Who may change something.
    private let access: ControlAccess

    /// Where changes, refusals and failures are told.
    private let logger: Logger

    /// Makes a dispatcher.
    package init(handler: any ControlHandling, access: ControlAccess, logger: Logger) {
        self.handler = handler
        self.access = access
        self.logger = logger
    }

    /// The reply to a message of `peer`, with its final NUL; nil if it wants none.
    ///
    /// - Throws: if the message is no call, which ends the connection.
    package func reply(
        to message: [UInt8],
        from peer: StreamConnection.Credentials
    ) async throws(ProtocolError) -> [UInt8]? {
        let call = try Call(message: message)
        let reply = await reply(to: call, from: peer)
        return call.oneway ? nil : reply
    }

    // MARK: - Private

    /// The reply to a call; whatever goes wrong becomes an error the peer can read.
    private func reply(to call: Call, from peer: StreamConnection.Credentials) async -> [UInt8] {
        do {
            let reply = try await results(of: call, from: peer)
            guard reply.count <= ControlLimits.replyOctets else {
                throw MethodError.failed(reason: "the reply is too large")
            }
            return reply
        } catch {
            let error = error as? MethodError ?? .failed(reason: "the reply has no JSON form")
            if case .failed(let reason) = error {
                logger.error("control: \(call.method) failed: \(reason)")
            }
            // All strings and objects: this form exists for every error.
            return (try? Reply(error).message()) ?? [0]
        }
    }

    /// Does what a call asks.
    private func results(
        of call: Call,
        from peer: StreamConnection.Credentials
    ) async throws -> [UInt8] {
        guard !call.upgrade else { throw MethodError.methodNotImplemented(call.method) }
        switch call.interface {
        case ControlInterface.name:
            guard let method = ControlInterface.Method(fullName: call.method) else {
                throw MethodError.methodNotFound(call.method)
            }
            return try await results(of: method, call, from: peer)
        case ServiceInterface.name:
            return try results(ofService: call)
        default:
            throw MethodError.interfaceNotFound(call.interface)
        }
    }

    /// Does what a method of the daemon's interface asks.
    private func results(
        of method: ControlInterface.Method,
        _ call: Call,
        from peer: StreamConnection.Credentials
    ) async throws -> [UInt8] {
        switch method {
        case .status:
            _ = try call.arguments(as: NoParameters.self)
            return try Reply.message(results: try await handler.status())
        case .stats:
            let reset = try call.arguments(as: StatsRequest.self).reset ?? false
            if reset { try allowChange(call, by: peer) }
            return try Reply.message(results: try await handler.stats(reset: reset))
        case .flush:
            let request = try call.arguments(as: FlushRequest.self)
            let scope = try request.scope()
            try allowChange(call, by: peer)
            let reply = try await handler.flush(scope, soft: request.soft ?? false)
            return try Reply.message(results: reply)
        case .lookup:
            let request = try call.arguments(as: LookupRequest.self)
            let reply = try await handler.lookup(request)
            guard !reply.entries.isEmpty else {
                let type = request.type.map { " " + $0 } ?? ""
                throw MethodError.notFound(what: request.name + type)
            }
            return try Reply.message(results: reply)
        case .top:
            let (kind, count) = try call.arguments(as: TopRequest.self).selection()
            return try Reply.message(results: try await handler.top(kind, count: count))
        case .pause:
            let vendor = try call.arguments(as: VendorRequest.self).vendor
            try allowChange(call, by: peer)
            let change = try await handler.pause(vendor)
            logger.notice("control: vendor \(change.vendor) is paused until it is resumed")
            return try Reply.message(results: change)
        case .resume:
            let vendor = try call.arguments(as: VendorRequest.self).vendor
            try allowChange(call, by: peer)
            let change = try await handler.resume(vendor)
            logger.notice("control: vendor \(change.vendor) is resumed")
            return try Reply.message(results: change)
        case .version:
            _ = try call.arguments(as: NoParameters.self)
            return try Reply.message(results: try await handler.version())
        }
    }

    /// Does what a method of `org.varlink.service` asks.
    private func results(ofService call: Call) throws -> [UInt8] {
        switch call.method {
        case ServiceInterface.getInfo:
            _ = try call.arguments(as: NoParameters.self)
            return try Reply.message(
                results: InfoReply(
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
                return try Reply.message(
                    results: DescriptionReply(description: ControlInterface.description)
                )
            case ServiceInterface.name:
                return try Reply.message(
                    results: DescriptionReply(description: ServiceInterface.description)
                )
            default:
                throw MethodError.interfaceNotFound(interface)
            }
        default:
            throw MethodError.methodNotFound(call.method)
        }
    }

    /// Lets a change pass and tells who makes it, or refuses.
    private func allowChange(
        _ call: Call,
        by peer: StreamConnection.Credentials
    ) throws(MethodError) {
        guard access.mayChange(peer) else {
            logger.warning(
                "control: \(call.method) denied to uid \(peer.uid), gid \(peer.gid), pid \(peer.pid)"
            )
            throw .denied(
                reason: "changes are for root, the daemon's user and the group of the socket"
            )
        }
        logger.info("control: \(call.method) by uid \(peer.uid), pid \(peer.pid)")
    }
}
