// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Dispatch
import Foundation

/// The command line, and the order of things.
@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdns-emulator",
        abstract: "Stands in for HTTPDNS vendors' servers, and misbehaves when told to.",
        usage: "httpdns-emulator [--listen <addr:port>] [--zone <file>] [<option>...]",
        discussion: Manual.discussion
    )

    @Option(help: .init("Where to listen; port 0 picks a free one.", valueName: "addr:port"))
    var listen = "127.0.0.1:8053"

    @Option(help: .init("The registered names; read again on SIGHUP.", valueName: "file"))
    var zone: String?

    @Option(help: .init("Lines 'FIELD = VALUE': id, key-des, key-aes, token.", valueName: "file"))
    var account: String?

    @Option(help: .init("The account's number (12345).", valueName: "number"))
    var id: String?

    @Option(help: .init("The DES key, 8 octets (testkey1).", valueName: "key"))
    var keyDes: String?

    @Option(help: .init("The AES key, 16 octets (1234567890123456).", valueName: "key"))
    var keyAes: String?

    @Option(help: .init("The HTTPS channel's token (987654321).", valueName: "number"))
    var token: String?

    @Option(help: .init("A fault, see FAULTS; may be repeated.", valueName: "spec"))
    var fault: [String] = []

    @Option(help: .init("Makes ':probability:' fall the same way again.", valueName: "number"))
    var seed: UInt64?

    @Option(
        parsing: .unconditional,
        help: .init("How wrong the clock is, for Date and expiries.", valueName: "seconds")
    )
    var clockOffset = 0

    @Option(help: .init("Lines of a batch that end in |clientip: last, every.", valueName: "which"))
    var clientIpLines = Tencent.ClientLines.last

    @Option(
        help: .init(
            "A family without addresses: zero, zero-ttl, empty, empty-ttl ('0', '0,0', '', ',0').",
            valueName: "form"
        )
    )
    var missingFamily = Tencent.MissingFamily.zero

    @Option(help: .init("Status for a wrong account; 200: empty answer.", valueName: "code"))
    var refusal = 401

    @Flag(help: "Refuse a dn without ';expiry'.")
    var requireExpiry = false

    @Option(help: .init("Service addresses /conf names, by comma.", valueName: "addresses"))
    var confServers: String?

    @Option(help: .init("Minutes they hold, 1-1440.", valueName: "minutes"))
    var confTtl = 60

    @Flag(help: "Write each call to stderr.")
    var log = false

    // MARK: - Running

    mutating func run() async throws {
        // A client that leaves early is a failed write, not a reason to die (pipe(7)).
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals([SIGHUP, SIGINT, SIGTERM])
        let emulator = try makeEmulator()
        let listener = try await makeListener()
        FileHandle.standardOutput.write(Data("listening on \(listener.address)\n".utf8))

        // Whichever ends first: the signals, and then well, or the listener, which throws.
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listener.run(emulator) }
            group.addTask { [arrivals = signals.arrivals] in
                for await number in arrivals {
                    guard number == SIGHUP else { break }
                    Self.reload(emulator)
                }
            }
            try await group.next()
            // Connections need no farewell and hold nothing, so the process simply ends.
            withExtendedLifetime(signals) { Foundation.exit(0) }
        }
    }

    /// Reloads the zone, and says so if that fails.
    private static func reload(_ emulator: Emulator) {
        do throws(ZoneError) {
            try emulator.reload()
        } catch {
            Emulator.complain("zone: \(error), keeping the old one")
        }
    }

    /// Everything but the socket.
    private func makeEmulator() throws -> Emulator {
        let faults = try fault.map { spec in
            do throws(Fault.Failure) {
                return try Fault(spec)
            } catch {
                throw ValidationError("--fault: \(error)")
            }
        }
        guard faults.count <= Limits.faults else {
            throw ValidationError("--fault: more than \(Limits.faults)")
        }
        let tencent = Tencent(account: try makeAccount(), manner: try makeManner())
        do throws(ZoneError) {
            return try Emulator(
                vendors: [tencent],
                zoneFile: zone,
                faults: FaultPlan(faults, seed: seed ?? .random(in: .min ... .max)),
                clock: Clock(offset: clockOffset),
                logsCalls: log
            )
        } catch {
            throw ValidationError("\(zone ?? "zone"): \(error)")
        }
    }

    /// The account: defaults, then the file, then the options.
    private func makeAccount() throws -> Account {
        var made = Account()
        do {
            if let account {
                try made.apply(text: String(contentsOfFile: account, encoding: .utf8))
            }
            made.id = id ?? made.id
            made.desKey = keyDes ?? made.desKey
            made.aesKey = keyAes ?? made.aesKey
            made.token = token ?? made.token
            try made.check()
        } catch let error as Account.Failure {
            throw ValidationError("account: \(error)")
        } catch {
            throw ValidationError("\(account ?? "account"): \(error.localizedDescription)")
        }
        return made
    }

    /// How Tencent answers.
    private func makeManner() throws -> Tencent.Manner {
        guard (200...599).contains(refusal) else {
            throw ValidationError("--refusal: \(refusal) is no status code")
        }
        guard (1...1440).contains(confTtl) else {
            throw ValidationError("--conf-ttl: \(confTtl) is not in 1-1440")
        }
        let addresses = confServers?.split(separator: ",").map(String.init)
        if let wrong = addresses?.first(where: { Address($0)?.family != .v4 }) {
            throw ValidationError("--conf-servers: '\(wrong)' is no IPv4 address")
        }
        return Tencent.Manner(
            clientLines: clientIpLines,
            missingFamily: missingFamily,
            refusal: refusal,
            requiresExpiry: requireExpiry,
            serviceAddresses: addresses,
            serviceMinutes: confTtl
        )
    }

    /// The socket.
    private func makeListener() async throws -> Listener {
        guard let endpoint = Endpoint(listen) else {
            throw ValidationError("--listen: '\(listen)' is not ADDR:PORT")
        }
        do {
            return try await Listener(endpoint)
        } catch {
            Emulator.complain("cannot listen on \(listen): \(error.localizedDescription)")
            throw ExitCode.failure
        }
    }
}

extension Tencent.ClientLines: ExpressibleByArgument {}
extension Tencent.MissingFamily: ExpressibleByArgument {}

/// Signals as a sequence of numbers.
private struct Signals {
    /// The numbers as they arrive.
    let arrivals: AsyncStream<Int32>

    /// What delivers them, for as long as this value lives.
    private let sources: [any DispatchSourceSignal]

    /// Takes signals over from the kernel's default action.
    init(_ numbers: [Int32]) {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        sources = numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
        arrivals = stream
    }
}
