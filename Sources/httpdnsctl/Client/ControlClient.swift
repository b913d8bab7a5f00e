// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

struct ControlClient {
    static let timeout = Duration.seconds(10)
    let socket: String
    var limit = Self.timeout

    /// Makes one call and returns its reply.
    ///
    /// - Throws: `unreachable` if no complete reply arrives, `failed` if the reply is malformed.
    func call(_ call: Call) throws(Failure) -> Reply {
        var connection = try ControlConnection.open(path: socket, timeout: limit)
        return try connection.exchange(call)
    }

    /// Makes one call, and passes each reply to `take`.
    ///
    /// - Parameter silence: longest expected time between two replies; if nil, there is no limit
    ///   after the first reply.
    func stream(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters,
        silence: Duration? = nil,
        _ take: (Reply) throws(Failure) -> Void
    ) throws(Failure) {
        var connection = try opened(method, arguments, silence: silence)
        while true {
            let reply = try connection.next { try Reply(message: $0) }
            if silence == nil { connection.timeout = nil }
            try take(reply)
            guard reply.continues else { return }
        }
    }

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
            if silence == nil { connection.timeout = nil }
            try take(results)
            guard continues else { return }
        }
    }

    private func opened(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters,
        silence: Duration?
    ) throws(Failure) -> ControlConnection {
        var call = try prepared(method, arguments)
        call.more = true
        var connection = try ControlConnection.open(path: socket, timeout: limit)
        try connection.begin(call)
        connection.timeout = limit + (silence ?? .zero)
        return connection
    }

    func call(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters = NoParameters()
    ) throws(Failure) -> Reply { try call(try prepared(method, arguments)) }

    /// Makes a call that may take minutes.
    ///
    /// Each time `limit` passes without a reply, the function calls `Version` on another
    /// connection, and throws if the daemon does not answer `Version` either. If the function
    /// throws, the daemon may nevertheless have executed the call.
    func slowCall(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters = NoParameters(),
        progress: @escaping (Duration) -> Void
    ) throws(Failure) -> Reply {
        let call = try prepared(method, arguments)
        let start = ContinuousClock.now
        var connection = try ControlConnection.open(path: socket, timeout: limit)
        connection.onSilence = { [self] () throws(Failure) in
            do throws(Failure) {
                _ = try self.call(.version)
            } catch {
                throw Failure(
                    message: "\(method.rawValue): no reply, and the daemon does not answer a test "
                        + "call (Version): \(error.message)",
                    hint: "the call may have taken effect: see journalctl -u httpdnsd",
                    status: .unreachable
                )
            }
            progress(start.duration(to: .now))
        }
        return try connection.exchange(call)
    }

    private func prepared(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters
    ) throws(Failure) -> Call {
        do {
            return try Call(method.fullName, arguments: arguments)
        } catch {
            throw Failure(message: "cannot encode the arguments as JSON: \(error)", status: .usage)
        }
    }
}
