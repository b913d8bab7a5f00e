// SPDX-License-Identifier: Apache-2.0
internal import Frontend
internal import Net

extension Daemon {
    static func missQueue(for handler: QueryHandler, _ own: OwnQuery) -> MissQueue {
        MissQueue(refresh: { handler.refresh($0.query, for: $0.client) }) { miss in
            if let reply = own.reply(to: miss.datagram.octets) {
                miss.listener.reply(reply, to: miss.datagram)
            } else {
                handler.answer(miss)
            }
        }
    }
}
