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
        abstract: "A local DNS server that asks HTTPDNS services.",
        discussion: """
            Answers port 53 from a cache, gets addresses from the HTTPDNS services of cloud \
            vendors, and forwards everything else to upstream resolvers. Runs in the foreground \
            and logs to standard error. SIGTERM stops it.
            """,
        version: Product.version
    )

    @Option(name: .long, help: "Settings file.")
    var config: String?

    @Flag(name: .long, help: "Check the settings, print every error or `ok`, and exit.")
    var check = false

    @Flag(
        name: .long,
        help: "Print the effective settings; without --config, their manual."
    )
    var printConfig = false

    @Flag(name: .long, help: "Print the JSON Schema of the settings, for editors.")
    var printSchema = false

    @Flag(name: .long, help: .hidden)
    var printManual = false

    @Option(
        name: .long,
        help: "Minimum level to log; overrides `log.level` of the settings."
    )
    var logLevel: Logger.Level?

    private static let standardConfig = "/etc/httpdnsd/httpdnsd.yaml"

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let isFault = exitCode(for: error) == .validationFailure
            guard isFault else { exit(withError: error) }
            Self.complain(fullMessage(for: error))
            Glibc.exit(2)
        }
    }

    func run() throws {
        if printConfig, config == nil {
            print(SettingsManual.text, terminator: "")
            return
        }
        if printManual {
            print(SettingsManual.pageText, terminator: "")
            return
        }
        if printSchema {
            print(SettingsSchema.text, terminator: "")
            return
        }
        do throws(SocketError) {
            try OwnProcess.close()
        } catch {
            Self.complain("cannot disable core dumps and tracing: \(error)")
            Glibc.exit(1)
        }
        let file = config ?? Self.standardConfig
        let settings: Handover<Settings>
        do throws(SettingsErrors) {
            let environment: SettingsEnvironment = check ? .check : .process
            settings = Handover(try Settings.load(file: file, environment: environment))
        } catch {
            Self.complain("\(error)")
            Glibc.exit(2)
        }
        if printConfig {
            print(settings.take().effectiveText, terminator: "")
        } else if check {
            let settings = settings.take()
            for warning in settings.warnings { Self.complain("warning: \(warning)") }
            for hint in settings.costHints(hasIPv6: Dependencies.hasGlobalIPv6()) {
                Self.complain("hint: \(hint)")
            }
            print("ok")
        } else {
            Glibc.exit(Self.serve(settings, from: file, level: logLevel))
        }
    }

    /// Runs the daemon, and returns its exit code; `level` overrides the settings.
    private static func serve(
        _ settings: Handover<Settings>,
        from file: String,
        level: Logger.Level?
    ) -> Int32 {
        let log = LogSink(settings.look { $0.log }, level: level)
        log.writeAtCrash()
        let source = SettingsSource(file: file)
        ServiceLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
        // The loop's thread keeps the capabilities until its sockets are bound.
        ServiceLoop.start()
        // A failure is ignored: the loop's thread makes the same call and reports the failure.
        try? OwnProcess.dropCapabilities()
        // After the drop: a thread inherits the capabilities of its creator.
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

    private static func complain(_ text: String) {
        let octets = Array(text.utf8) + [0x0A]
        // SAFETY: the octets live during the call. A failed write is ignored: standard error is the
        // only output.
        _ = unsafe octets.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// A value that is taken once.
///
/// No reference remains, so that the secrets of old settings do not stay in memory after a reload.
private final class Handover<Value: Sendable>: Sendable {
    private let value: Lock<Value?>

    init(_ value: Value) { self.value = Lock(value) }

    /// Reads the value, which can still be taken.
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
