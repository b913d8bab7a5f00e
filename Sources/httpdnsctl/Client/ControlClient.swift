// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

/// A client of the control socket that waits for each reply.
struct ControlClient {
    /// How long one call may take, connecting included: 10 s.
    ///
    /// The daemon answers every verb from memory, within milliseconds.
    static let timeout = Duration.seconds(10)

    /// The path of the socket.
    let socket: String

    /// How long one call may take here.
    var limit = Self.timeout

    /// Makes one call over a connection of its own.
    ///
    /// - Throws: `Failure` with `unreachable` if no whole reply came, `failed` if it is not one.
    func call(_ call: Call) throws(Failure) -> Reply {
        var connection = try ControlConnection.open(path: socket, timeout: limit)
        return try connection.exchange(call)
    }

    /// Makes a call that takes several replies, and hands over each until the daemon says that it
    /// was the last one.
    ///
    /// - Parameter silence: how long nothing may come, besides the usual time for a reply; nil if
    ///   that says nothing.
    /// - Throws: as `call`, also if the daemon ends before it said so.
    func stream(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters,
        silence: Duration? = nil,
        _ take: (Reply) throws(Failure) -> Void
    ) throws(Failure) {
        var connection = try opened(method, arguments, silence: silence)
        while true {
            let reply = try connection.next { try Reply(message: $0) }
            try take(reply)
            guard reply.continues else { return }
        }
    }

    /// The same for one who wants results of their own type only, which takes a tenth of the time.
    func stream<Results: Decodable>(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters,
        as type: Results.Type,
        silence: Duration? = nil,
        _ take: (Results) throws(Failure) -> Void
    ) throws(Failure) {
        var connection = try opened(method, arguments, silence: silence)
        while true {
            let (results, continues) = try connection.next {
                try Reply.results(as: type, in: $0)
            }
            try take(results)
            guard continues else { return }
        }
    }

    /// A connection on which a call was made that takes several replies.
    private func opened(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters,
        silence: Duration?
    ) throws(Failure) -> ControlConnection {
        var call = try prepared(method, arguments)
        call.more = true
        var connection = try ControlConnection.open(path: socket, timeout: Self.timeout)
        try connection.begin(call)
        connection.timeout = silence.map { Self.timeout + $0 }
        return connection
    }

    /// Makes a call of a method of the daemon's interface.
    func call(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters = NoParameters()
    ) throws(Failure) -> Reply {
        try call(try prepared(method, arguments))
    }

    /// The call of a method.
    private func prepared(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters
    ) throws(Failure) -> Call {
        do {
            return try Call(method.fullName, arguments: arguments)
        } catch {
            throw Failure(message: "the arguments have no JSON form: \(error)", status: .usage)
        }
    }
}
