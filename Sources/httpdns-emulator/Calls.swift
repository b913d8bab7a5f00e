// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// What clients asked, counted before any fault, so that a test can say "one call for both".
final class Calls: Sendable {
    /// The numbers, as `GET /_emulator/calls` prints them.
    struct Numbers: Codable, Sendable, Equatable {
        /// Calls for addresses, of all vendors; refused ones too.
        var lookups = 0
        /// All calls by path, of vendors only.
        var paths: [String: Int] = [:]
        /// Lookups by name in lower case; a batch counts once for each of its names.
        var names: [String: Int] = [:]
        /// Calls by vendor and channel, as in `tencent-aes`.
        var channels: [String: Int] = [:]
        /// Connections that carried at least one call.
        var connections = 0
        /// Faults that happened, by call and fault.
        var faults = 0
        /// The last call, if any.
        var last: Last?
        /// How often the zone has been loaded, and its names; never reset.
        var zone = Loaded()

        enum CodingKeys: String, CodingKey, CaseIterable {
            case lookups, paths, names, channels, connections, faults, last, zone
        }
    }

    /// The last call.
    struct Last: Codable, Sendable, Equatable {
        /// The method.
        var method: String
        /// The path.
        var path: String
        /// The parameters as they came.
        var parameters: [String: String]
        /// The names after decryption.
        var names: [String]
        /// The vendor and channel.
        var channel: String
        /// The client's address.
        var client: String
        /// Header fields, names in lower case.
        var headers: [String: String]
    }

    /// The zone in use.
    struct Loaded: Codable, Sendable, Equatable {
        /// 1 at the start, one more for each reload that worked.
        var generation = 1
        /// Registered names.
        var names = 0
    }

    /// The numbers.
    private let numbers = Lock(Numbers())

    /// Counts one call.
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

    /// Sets everything to zero.
    func reset() { numbers.withLock { $0 = Numbers() } }

    /// The numbers as JSON, with the zone's.
    func json(zone: Loaded) -> String {
        var copy = numbers.withLock { $0 }
        copy.zone = zone
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Strings and whole numbers always encode; an empty object would only hide a mistake.
        guard let data = try? encoder.encode(copy) else {
            preconditionFailure("calls do not encode")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}

/// How many connections are open, for `Limits.connections`.
final class OpenConnections: Sendable {
    /// The number.
    private let number = Lock(0)

    /// Takes a place, false if none is left.
    func open() -> Bool {
        number.withLock { number in
            guard number < Limits.connections else { return false }
            number += 1
            return true
        }
    }

    /// Gives a place back.
    func close() { number.withLock { $0 -= 1 } }
}
