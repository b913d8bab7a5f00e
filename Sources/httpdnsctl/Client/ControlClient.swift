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

    /// Makes one call over a connection of its own.
    ///
    /// - Throws: `Failure` with `unreachable` if no whole reply came, `failed` if it is not one.
    func call(_ call: Call) throws(Failure) -> Reply {
        let connection = try ControlConnection.open(path: socket, timeout: Self.timeout)
        return try connection.exchange(call)
    }

    /// Makes a call of a method of the daemon's interface.
    func call(
        _ method: ControlInterface.Method,
        _ arguments: some CallParameters = NoParameters()
    ) throws(Failure) -> Reply {
        let prepared: Call
        do {
            prepared = try Call(method.fullName, arguments: arguments)
        } catch {
            throw Failure(message: "the arguments have no JSON form: \(error)", status: .usage)
        }
        return try call(prepared)
    }
}
