// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// The stand-in as a whole: vendors, zone, faults, counters, clock.
final class Emulator: Sendable {
    /// The vendors, asked in turn whose request it is.
    private let vendors: [any Vendor]

    /// Where the zone comes from; nil: built in.
    private let zoneFile: String?

    /// The zone in use, and how often it was loaded.
    private let zone: Lock<(zone: Zone, loaded: Calls.Loaded)>

    /// The faults in force.
    let faults: FaultPlan

    /// What clients asked.
    let calls = Calls()

    /// The time vendors believe in.
    let clock: Clock

    /// How many connections are open.
    let connections = OpenConnections()

    /// Whether each call is written to stderr.
    private let logsCalls: Bool

    // MARK: - Making

    /// Loads the zone.
    ///
    /// - Throws: `ZoneError`.
    init(
        vendors: [any Vendor],
        zoneFile: String?,
        faults: FaultPlan,
        clock: Clock,
        logsCalls: Bool
    ) throws(ZoneError) {
        let zone = try Self.load(zoneFile)
        self.vendors = vendors
        self.zoneFile = zoneFile
        self.zone = Lock((zone, Calls.Loaded(generation: 1, names: zone.count)))
        self.faults = faults
        self.clock = clock
        self.logsCalls = logsCalls
    }

    /// Loads the zone again; on failure the old one stays.
    ///
    /// - Throws: `ZoneError`.
    func reload() throws(ZoneError) {
        let fresh = try Self.load(zoneFile)
        zone.withLock {
            $0 = (fresh, .init(generation: $0.loaded.generation + 1, names: fresh.count))
        }
    }

    /// The zone of a file, or the built-in one.
    private static func load(_ file: String?) throws(ZoneError) -> Zone {
        guard let file else { return try Zone(text: Zone.demoText) }
        return try Zone(file: file)
    }

    // MARK: - Answering

    /// What to send for a request.
    ///
    /// - Parameter onNewConnection: whether no call came over this connection before.
    func reply(to request: Request, onNewConnection: Bool) -> Reply {
        if Admin.owns(request.path) {
            return Reply(response: Admin(emulator: self).response(to: request))
        }
        guard let vendor = vendor(of: request) else {
            log("\(request.client) \(request.method) \(request.path): 404")
            return Reply(response: Response(status: 404))
        }
        let call = vendor.call(request, at: clock.now)
        let firing = faults.firing(
            path: request.path,
            names: call.names,
            isLookup: call.isLookup
        )
        calls.count(call, of: request, faults: firing.count, onNewConnection: onNewConnection)

        let damage = Damage(firing.map(\.kind))
        let response: Response
        do {
            response =
                if let code = damage.error { vendor.failure(code) } else {
                    try call.answer(zone.withLock { $0.zone }, damage.distortion)
                }
        } catch {
            // Encrypting our own text fails only if OpenSSL lacks a cipher or memory.
            log("\(request.path) cannot be answered: \(error)")
            return Reply(response: Response(status: 500))
        }
        let reply = damage.applied(to: response)
        logCall(call, request, reply, firing)
        return reply
    }

    /// Whose request it is, if anyone's.
    func vendor(of request: Request) -> (any Vendor)? { vendors.first { $0.serves(request) } }

    /// The zone's numbers.
    var loaded: Calls.Loaded { zone.withLock { $0.loaded } }

    // MARK: - Logging

    /// Writes a line to stderr if asked to log.
    func log(_ line: @autoclosure () -> String) {
        if logsCalls { Self.complain(line()) }
    }

    /// Writes a line to stderr in any case.
    static func complain(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    /// Writes one call as one line.
    private func logCall(_ call: Call, _ request: Request, _ reply: Reply, _ firing: [Fault]) {
        log(
            "\(request.client) \(request.method) \(request.path) \(call.channel) "
                + "\(call.names.joined(separator: ",")): \(reply.response.status), "
                + "\(reply.response.body.count) octets"
                + firing.map { ", " + $0.text }.joined()
        )
    }
}
