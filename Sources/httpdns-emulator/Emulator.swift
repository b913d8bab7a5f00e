// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

final class Emulator: Sendable {
    /// A request goes to the first vendor that returns true from `serves`.
    private let vendors: [any Vendor]

    private let zoneFile: String?
    private let zone: Lock<(zone: Zone, loaded: Calls.Loaded)>
    let faults: FaultPlan
    let calls = Calls()
    let bill: Bill
    let clock: Clock
    let connections = OpenConnections()
    private let logsCalls: Bool

    // MARK: - Making

    init(
        vendors: [any Vendor],
        zoneFile: String?,
        faults: FaultPlan,
        clock: Clock,
        bill: Bill = Bill(),
        logsCalls: Bool
    ) throws(ZoneError) {
        let zone = try Self.load(zoneFile)
        self.vendors = vendors
        self.zoneFile = zoneFile
        self.zone = Lock((zone, Calls.Loaded(generation: 1, names: zone.count)))
        self.faults = faults
        self.clock = clock
        self.bill = bill
        self.logsCalls = logsCalls
    }

    func reload() throws(ZoneError) {
        let fresh = try Self.load(zoneFile)
        zone.withLock {
            $0 = (fresh, .init(generation: $0.loaded.generation + 1, names: fresh.count))
        }
    }

    private static func load(_ file: String?) throws(ZoneError) -> Zone {
        guard let file else { return try Zone(text: Zone.demoText) }
        return try Zone(file: file)
    }

    // MARK: - Answering

    func reply(to request: Request, onNewConnection: Bool) -> Reply {
        if Admin.owns(request.path) {
            return Reply(response: Admin(emulator: self).response(to: request))
        }
        guard let vendor = vendor(of: request) else {
            log("\(request.client) \(request.method) \(request.path): 404")
            return Reply(response: Response(status: 404))
        }
        let call = vendor.call(request, at: clock.now)
        let firing = faults.firing(path: request.path, names: call.names, isLookup: call.isLookup)
        calls.count(call, of: request, faults: firing.count, onNewConnection: onNewConnection)

        let damage = Damage(firing.map(\.kind))
        let zone = zone.withLock { $0.zone }
        let response: Response
        do {
            response =
                if let code = damage.error { vendor.failure(code) } else {
                    try call.answer(zone, damage.distortion)
                }
        } catch {
            log("\(request.path): cannot answer: \(error)")
            return Reply(response: Response(status: 500))
        }
        let reply = damage.applied(to: response)
        // Vendors also bill delayed, damaged and dropped replies.
        if let charge = call.charge, reply.response.status == 200 {
            bill.add(
                charge.items(
                    for: call.names,
                    in: zone,
                    isHTTPS: request.isHTTPS,
                    isRefused: damage.error != nil
                ),
                rate: charge.rate,
                isHTTPS: request.isHTTPS
            )
        }
        logCall(call, request, reply, firing)
        return reply
    }

    func vendor(of request: Request) -> (any Vendor)? { vendors.first { $0.serves(request) } }
    var loaded: Calls.Loaded { zone.withLock { $0.loaded } }

    // MARK: - Logging

    func log(_ line: @autoclosure () -> String) { if logsCalls { Self.complain(line()) } }

    static func complain(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    private func logCall(_ call: Call, _ request: Request, _ reply: Reply, _ firing: [Fault]) {
        log(
            "\(request.client) \(request.method) \(request.path) \(call.channel) "
                + "\(call.names.joined(separator: ",")): \(reply.response.status), "
                + "\(reply.response.body.count) octets"
                + firing.map { ", " + $0.text }.joined()
        )
    }
}
