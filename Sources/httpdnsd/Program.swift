// SPDX-License-Identifier: Apache-2.0
public import ArgumentParser
internal import Configuration
internal import Control
internal import Daemon
internal import DaemonLog
internal import Glibc
internal import Locks
public import Logging
internal import Net

@main
struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdnsd",
        abstract: "A local DNS server that queries HTTPDNS services.",
        discussion: """
            Answers DNS queries from a cache, gets addresses from the HTTPDNS services of cloud \
            vendors, and forwards all other queries to upstream resolvers. Runs in the foreground \
            and logs to standard error. SIGTERM stops the daemon.
            """,
        version: Product.version
    )

    @Option(
        name: .long,
        help: ArgumentHelp("Settings file. (default: \(Program.standardConfig))", valueName: "path")
    )
    var config: String?

    @Flag(name: .long, help: "Check the settings, print every error or `ok`, and exit.")
    var check = false

    @Flag(
        name: .long,
        help:
            "Print the effective settings of --config; without --config, describe all settings."
    )
    var printConfig = false

    @Flag(name: .long, help: "Print the JSON Schema of the settings, for editors.")
    var printSchema = false

    @Flag(name: .long, help: .hidden)
    var printManual = false

    @Option(name: .long, help: "Lowest level to log; overrides `log.level` of the settings.")
    var logLevel: Logger.Level?

    private static let standardConfig = "/etc/httpdnsd/httpdnsd.yaml"

    private enum Action {
        case check, printConfig
        case serve(Logger.Level?)
    }

    static func main() {
        // Without /proc, Swift finds no arguments, so a call with `--check` would start a daemon.
        guard !CommandLine.arguments.isEmpty else {
            complain("cannot read the arguments, because /proc is not mounted: mount /proc")
            Glibc.exit(2)
        }
        // httpdnsd.service passes only `--config FILE`. For these arguments, the argument parser
        // is not used, which saves about 1 ms.
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.count == 2, arguments.first == "--config", let file = arguments.last,
            !file.hasPrefix("-")
        {
            perform(.serve(nil), on: file)
            return
        }
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            if code == .success {
                Self.print(fullMessage(for: error) + "\n")
                Glibc.exit(0)
            }
            Self.complain(fullMessage(for: error))
            Glibc.exit(code == .validationFailure ? 2 : code.rawValue)
        }
    }

    func run() throws {
        if printConfig, config == nil {
            Self.print(SettingsManual.text)
            return
        }
        if printManual {
            Self.print(SettingsManual.pageText)
            return
        }
        if printSchema {
            Self.print(SettingsSchema.text)
            return
        }
        Self.perform(
            printConfig ? .printConfig : check ? .check : .serve(logLevel),
            on: config ?? Self.standardConfig
        )
    }

    private static func perform(_ action: Action, on file: String) {
        do throws(SocketError) {
            try OwnProcess.openStandardDescriptors()
        } catch {
            complain("cannot open /dev/null for a closed standard descriptor: \(error)")
            Glibc.exit(1)
        }
        do throws(SocketError) {
            try OwnProcess.close()
        } catch {
            complain("cannot disable core dumps and tracing: \(error)")
            Glibc.exit(1)
        }
        let settings: Handover<Settings>
        do throws(SettingsErrors) {
            let environment: SettingsEnvironment =
                if case .check = action { .check } else { .process }
            settings = Handover(try Settings.load(file: file, environment: environment))
        } catch {
            complain("\(error)")
            Glibc.exit(2)
        }
        switch action {
        case .printConfig: print(settings.take().effectiveText)
        case .check:
            let settings = settings.take()
            let excess = settings.hosts.excess.map {
                SettingsComplaint(file: file, line: 0, column: 0, message: "hosts: \($0)")
            }
            for warning in settings.warnings + excess { complain("warning: \(warning)") }
            for hint in settings.costHints(hasIPv6: Dependencies.hasGlobalIPv6()) {
                complain("hint: \(hint)")
            }
            print("ok\n")
        case .serve(let level):
            OwnProcess.returnFreeMemory()
            Glibc.exit(serve(settings, from: file, level: level))
        }
    }

    /// `level` overrides the log level of the settings.
    private static func serve(
        _ settings: Handover<Settings>,
        from file: String,
        level: Logger.Level?
    ) -> Int32 {
        let log = LogSink(settings.look { $0.log }, level: level)
        log.writeAtCrash()
        let source = SettingsSource(file: file)
        ServiceLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
        // The service loop binds sockets, so its thread starts before the capabilities are dropped.
        ServiceLoop.start()
        // The service loop later logs a failure.
        try? OwnProcess.dropCapabilities()
        // The writer thread inherits the reduced capabilities.
        log.startWriter()
        defer { log.flush() }
        return ServiceLoop.run {
            do throws(StartError) {
                let code = await (try Daemon(settings.take(), from: source, log: log)).run()
                ServiceManager.flush()
                return code
            } catch {
                log.logger.critical("\(error)")
                return error.exitCode
            }
        }
    }

    /// Writes to standard output; on failure, ends the process with exit code 1.
    private static func print(_ text: String) {
        guard let code = write(text, to: STDOUT_FILENO) else { return }
        complain("cannot write the output: \(SocketError.system(call: "write", code: code))")
        Glibc.exit(1)
    }

    private static func complain(_ text: String) { _ = write(text + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            // SAFETY: write(2) reads at most the count of the buffer, which lives during the call.
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return errno }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// Value that `take` moves out, so that secrets of old settings do not stay in memory.
private final class Handover<Value: Sendable>: Sendable {
    private let value: Lock<Value?>
    init(_ value: Value) { self.value = Lock(value) }

    func look<Seen: Sendable>(_ see: (Value) -> Seen) -> Seen {
        value.withLock { value in
            guard let value else { preconditionFailure("read after `take`") }
            return see(value)
        }
    }

    func take() -> Value {
        let taken = value.withLock { value in
            defer { value = nil }
            return value
        }
        guard let taken else { preconditionFailure("taken twice") }
        return taken
    }
}
