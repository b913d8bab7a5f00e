// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

// MARK: - Names that wait for a call

extension VendorClient {
    package func join(
        _ name: Name,
        _ families: Families,
        parameters: RouteParameters? = nil,
        of client: ClientNetwork
    ) {
        let now = clocks.now()
        note(client, now: now)
        if countsDemand { demand.note(name, families, now: now) }
        let question = question(name, families, .v4, parameters, now: now)
        guard let name = pending[question], name.call == nil else { return }
        queue.add(question, of: client, since: name.queuedAt)
        flushSoon()
    }

    /// Fails a name that waits for a call; returns false if the name does not wait.
    package func leaveQueue(
        _ name: Name,
        _ families: Families,
        _ parameters: RouteParameters?
    ) -> Bool {
        let question = question(name, families, .v4, parameters, now: clocks.now())
        guard let name = pending[question], name.call == nil else { return false }
        let clients = queue.clients(of: question)
        queue.remove(question)
        answer(name, failure(waitReason(of: clients), of: clients ?? held.client(of: name)))
        return true
    }

    /// Returns true if a name waits because its clients have used up their shares of the calls.
    package func waitsForShare(
        _ name: Name,
        _ families: Families,
        _ parameters: RouteParameters?
    ) -> Bool {
        let question = question(name, families, .v4, parameters, now: clocks.now())
        guard let name = pending[question], name.call == nil else { return false }
        return waitReason(of: queue.clients(of: question)) == .clientBusy
    }

    /// Returns the reason why a name did not get a call.
    ///
    /// - Parameter clients: the waiting clients; nil if the name is held after a refused call.
    func waitReason(of clients: Set<ClientNetwork?>?, free: Int? = nil) -> VendorError {
        guard isResponsive else { return .outOfTime }
        guard let clients else { return .busy }
        let isOfClient = (free ?? shares.free) > 0 || clients.contains { shares.count(of: $0) > 0 }
        return isOfClient ? .clientBusy : .busy
    }

    func failure(
        _ reason: VendorError,
        of clients: Set<ClientNetwork?>?,
        beginning client: ClientNetwork?? = nil
    ) -> VendorFailure {
        var failure = VendorFailure(reason: reason)
        guard reason.kind == .busy, isResponsive else { return failure }
        let isOwnReason = clients?.allSatisfy {
            shares.isOwnReason($0, adding: client == .some($0) ? 1 : 0)
        }
        failure.isCrowded = isOwnReason != true
        return failure
    }

    var isResponsive: Bool { !isSilent && !silence.hasFailedProbe }
}
