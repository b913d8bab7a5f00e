// SPDX-License-Identifier: Apache-2.0
internal import Net

// MARK: - Servers that answer in order

extension StreamExchanger {
    func watchOrder() {
        guard !answersOutOfOrder else { return }
        orderAlarm.bring(forward: clocks.now() + UpstreamLimits.fairWait)
    }

    /// Replaces connections of the purpose `queries` if they have an overdue query; sets the alarm.
    func checkOrder() {
        let used = Array(current.values) + candidates.values
        guard !used.contains(where: \.isOutOfOrder) else {
            (answersOutOfOrder, slowClients) = (true, RecentKeys())
            return
        }
        let now = clocks.now()
        for purpose in [Purpose.queries, .queriesOfBusyClients]
        where purpose != .queries || !isOpening(purpose, at: now) {
            for connection in [candidates[purpose], current[purpose]] {
                guard let connection, let query = connection.overdue(at: now) else { continue }
                slowClients.add(query.client, at: now)
                if purpose == .queries { replace(connection) }
            }
        }
        let later = now + UpstreamLimits.fairWait
        for connection in Array(current.values) + candidates.values where connection.hasUnanswered {
            let time = connection.overdueTime ?? later
            orderAlarm.bring(forward: now < time ? time : later)
        }
    }

    /// Replaces a connection that has an overdue query.
    private func replace(_ connection: PipelinedConnection) {
        if candidates[.queries] === connection {
            candidates[.queries] = nil
        } else {
            current[.queries] = nil
        }
        let delayed = connection.delayed
        let busy = current[.queriesOfBusyClients]
        if busy?.isUsable == true {
            retire(connection)
        } else {
            if let busy { retire(busy) }
            current[.queriesOfBusyClients] = connection
            sharing[.queriesOfBusyClients] = nil
        }
        repeatQueries(delayed, besides: connection)
    }

    /// Also sends queries that wait on `connection` on another connection.
    func repeatQueries(
        _ waiting: [PipelinedConnection.Pending],
        besides connection: PipelinedConnection
    ) {
        for each in waiting {
            guard let (message, attempt) = each.query else { continue }
            let purpose = self.purpose(of: attempt)
            let other = self.connection(for: purpose, receivedSince: nil)
            guard other !== connection else { continue }
            ServiceLoop.task { [self] in
                if let answer = try? await ask(message, attempt, on: other, purpose) {
                    adopt(answer.connection, for: purpose)
                    each.end(with: answer.octets)
                }
            }
        }
    }
}
