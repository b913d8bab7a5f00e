// SPDX-License-Identifier: Apache-2.0
internal import Frontend
internal import Net

extension Daemon {
    static func missQueue(
        for handler: QueryHandler,
        _ own: OwnQuery
    ) throws(StartError) -> MissQueue {
        do throws(SocketError) {
            return try MissQueue(refresh: { handler.refresh($0.query, for: $0.client) }) { miss in
                if let reply = own.reply(to: miss.datagram.octets) {
                    miss.listener.reply(reply, to: miss.datagram)
                } else {
                    answer(miss, at: handler)
                }
            }
        } catch {
            throw .system(error)
        }
    }

    private static func answer(_ miss: Miss, at handler: QueryHandler) {
        let look = handler.look(
            at: miss.datagram.octets,
            from: miss.clientContext,
            arrival: miss.arrival
        )
        switch look {
        case .nothing:
            break
        case .reply(let reply), .malformed(let reply):
            miss.listener.reply(reply, to: miss.datagram)
        case .question(let open):
            let (listener, sender) = (miss.listener, miss.datagram.withoutOctets)
            handler.resolve(open) { listener.reply($0, to: sender) }
        }
    }
}
