// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// Counters of received vendor calls, including calls with a fault.
final class Calls: Sendable {
    struct Numbers: Codable, Sendable, Equatable {
        var lookups = 0
        var paths: [String: Int] = [:]
        /// Lookups for each lower-case name; a call for several names counts once for each name.
        var names: [String: Int] = [:]
        var channels: [String: Int] = [:]
        var connections = 0
        var faults = 0
        var last: Last?
        var zone = Loaded()
    }

    struct Last: Codable, Sendable, Equatable {
        var method: String
        var path: String
        var parameters: [String: String]
        var names: [String]
        var channel: String
        var client: String
        var headers: [String: String]
    }

    struct Loaded: Codable, Sendable, Equatable {
        var generation = 1
        var names = 0
    }

    private let numbers = Lock(Numbers())

    func count(_ call: Call, of request: Request, faults: Int, onNewConnection: Bool) {
        numbers.withLock { numbers in
            numbers.paths[request.path, default: 0] += 1
            numbers.channels[call.channel, default: 0] += 1
            numbers.faults += faults
            if onNewConnection { numbers.connections += 1 }
            if call.isLookup {
                numbers.lookups += 1
                for name in Set(call.names) {
                    let room =
                        numbers.names.count < Limits.countedNames || numbers.names[name] != nil
                    numbers.names[room ? name : "(other)", default: 0] += 1
                }
            }
            numbers.last = Last(
                method: request.method,
                path: request.path,
                parameters: Dictionary(
                    request.parameters?.map { ($0.name, $0.value) } ?? [],
                    uniquingKeysWith: { first, _ in first }
                ),
                names: call.names,
                channel: call.channel,
                client: request.client,
                headers: request.headers
            )
        }
    }

    func reset() { numbers.withLock { $0 = Numbers() } }

    func json(zone: Loaded) -> String {
        var copy = numbers.withLock { $0 }
        copy.zone = zone
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(copy) else {
            preconditionFailure("cannot encode the counters")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}

final class OpenConnections: Sendable {
    private let number = Lock(0)

    func open() -> Bool {
        number.withLock { number in
            guard number < Limits.connections else { return false }
            number += 1
            return true
        }
    }

    func close() { number.withLock { $0 -= 1 } }
}
