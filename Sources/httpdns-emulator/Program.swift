// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Dispatch
import Foundation

@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdns-emulator",
        abstract: "Emulate the servers of HTTPDNS vendors, with fault injection.",
        usage: "httpdns-emulator [--listen <addr:port>] [--zone <file>] [<option>...]",
        discussion: Manual.discussion
    )

    @Option(help: .init("Listening address; port 0 selects a free port.", valueName: "addr:port"))
    var listen = "127.0.0.1:8053"

    @Option(help: .init("File of names and addresses; SIGHUP reloads it.", valueName: "file"))
    var zone: String?

    @Option(
        help: .init("File of accounts ('FIELD = VALUE' lines), see ACCOUNTS.", valueName: "file")
    )
    var account: String?

    @Option(
        help: .init(
            "Set an account field, see ACCOUNTS; may be repeated.",
            valueName: "field=value"
        )
    )
    var set: [String] = []

    @Option(help: .init("Tencent account number. (default: 12345)", valueName: "number"))
    var id: String?

    @Option(help: .init("Tencent DES key, 8 octets. (default: testkey1)", valueName: "key"))
    var keyDes: String?

    @Option(
        help: .init("Tencent AES key, 16 octets. (default: 1234567890123456)", valueName: "key")
    )
    var keyAes: String?

    @Option(
        help: .init("Token of the Tencent HTTPS channel. (default: 987654321)", valueName: "number")
    )
    var token: String?

    @Option(help: .init("Fault to inject, see FAULTS; may be repeated.", valueName: "spec"))
    var fault: [String] = []

    @Option(
        help: .init(
            "Seed of the random numbers for the condition :probability:.",
            valueName: "number"
        )
    )
    var seed: UInt64?

    @Option(
        parsing: .unconditional,
        help: .init(
            "Offset of the emulator's clock, for the Date header and expiry times.",
            valueName: "seconds"
        )
    )
    var clockOffset = 0

    @Flag(help: "Log each call to standard error.")
    var log = false

    @OptionGroup(title: "Tencent Cloud")
    var tencent: TencentOptions

    @OptionGroup(title: "Alibaba EMAS")
    var alibaba: AlibabaOptions

    @OptionGroup(title: "DNS in JSON")
    var json: DNSJSONOptions

    // MARK: - Running

    static func main() async {
        // Swift reads the arguments from /proc; without /proc, the list is empty.
        guard !CommandLine.arguments.isEmpty else {
            Emulator.complain(
                "cannot read the arguments, because /proc is not mounted: mount /proc"
            )
            Foundation.exit(2)
        }
        await main(nil)
    }

    mutating func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        let signals = await Signals([SIGHUP, SIGINT, SIGTERM])
        _ = try makeEmulator(at: try endpoint())
        let listener = try await makeListener()
        let emulator = try makeEmulator(at: Endpoint(own: listener.address) ?? endpoint())
        FileHandle.standardOutput.write(Data("listening on \(listener.address)\n".utf8))

        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listener.run(emulator) }
            group.addTask { [arrivals = signals.arrivals] in
                for await number in arrivals {
                    guard number == SIGHUP else { break }
                    Self.reload(emulator)
                }
            }
            try await group.next()
            withExtendedLifetime(signals) { Foundation.exit(0) }
        }
    }

    private static func reload(_ emulator: Emulator) {
        do throws(ZoneError) {
            try emulator.reload()
        } catch {
            Emulator.complain("zone: \(error), keeping the old zone")
        }
    }

    private func makeEmulator(at own: Endpoint) throws -> Emulator {
        let faults = try fault.map { spec in
            do throws(Fault.Failure) {
                return try Fault(spec)
            } catch {
                throw ValidationError("--fault: \(error)")
            }
        }
        guard faults.count <= Limits.faults else {
            throw ValidationError("--fault: more than \(Limits.faults) faults")
        }
        let account = try makeAccount()
        let bill = Bill()
        let vendors: [any Vendor] = [
            Tencent(account: account, manner: try tencent.manner(at: own)),
            Alibaba(account: account, manner: try alibaba.manner(at: own)),
            AlibabaAPI(account: account, bill: bill),
            Baidu(account: account),
            // `Volcengine` must precede `DNSJSON`, which accepts all other requests to `/resolve`.
            Volcengine(account: account),
            DNSJSON(account: account, manner: json.manner),
        ]
        do throws(ZoneError) {
            return try Emulator(
                vendors: vendors,
                zoneFile: zone,
                faults: FaultPlan(faults, seed: seed ?? .random(in: .min ... .max)),
                clock: Clock(offset: clockOffset),
                bill: bill,
                logsCalls: log
            )
        } catch {
            throw ValidationError("\(zone ?? "zone"): \(error)")
        }
    }

    private func makeAccount() throws -> Account {
        var made = Account()
        do {
            if let account {
                try made.apply(text: String(contentsOfFile: account, encoding: .utf8))
            }
            for option in set { try made.apply(option: option) }
            made[.id] = id ?? made[.id]
            made[.keyDES] = keyDes ?? made[.keyDES]
            made[.keyAES] = keyAes ?? made[.keyAES]
            made[.token] = token ?? made[.token]
            try made.check()
        } catch let error as Account.Failure {
            throw ValidationError("account: \(error)")
        } catch {
            throw ValidationError("\(account ?? "account"): \(error.localizedDescription)")
        }
        return made
    }

    private func endpoint() throws -> Endpoint {
        guard let endpoint = Endpoint(listen) else {
            throw ValidationError("--listen: '\(listen)' is not ADDR:PORT")
        }
        return endpoint
    }

    private func makeListener() async throws -> Listener {
        let endpoint = try endpoint()
        do {
            return try await Listener(endpoint)
        } catch {
            Emulator.complain("cannot listen on \(listen): \(error.localizedDescription)")
            throw ExitCode.failure
        }
    }
}

extension Endpoint {
    fileprivate init?(own text: String) {
        let loopback = ["0.0.0.0:": "127.0.0.1:", "[::]:": "[::1]:"]
        let wildcard = loopback.first { text.hasPrefix($0.key) }
        self.init(wildcard.map { $0.value + text.dropFirst($0.key.count) } ?? text)
    }
}

private struct Signals {
    let arrivals: AsyncStream<Int32>

    /// libdispatch stops a source that has no reference.
    private let sources: [any DispatchSourceSignal]

    /// Registers the signals, and returns after the last registration.
    ///
    /// A signal that arrives before its registration has no effect.
    init(_ numbers: [Int32]) async {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        var sources: [any DispatchSourceSignal] = []
        for number in numbers {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
            sources.append(source)
        }
        self.sources = sources
        arrivals = stream
    }
}
