// SPDX-License-Identifier: Apache-2.0
public import ArgumentParser
internal import Control
internal import Glibc
internal import Locks
public import Logging
internal import Net
internal import Server

/// The command line of the daemon.
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

    @Option(name: .long, help: "The settings file.")
    var config: String?

    @Flag(name: .long, help: "Check the settings, print every error or `ok`, and exit.")
    var check = false

    @Flag(
        name: .long,
        help: "Print the settings in effect, or without --config the manual of all settings."
    )
    var printConfig = false

    @Flag(name: .long, help: "Print the JSON Schema of the settings, for editors.")
    var printSchema = false

    @Option(
        name: .long,
        help: "The least important level that is logged, instead of the settings' `log.level`."
    )
    var logLevel: Logger.Level?

    /// Where the settings are if nobody says otherwise.
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
        if printSchema {
            print(SettingsSchema.text, terminator: "")
            return
        }
        do throws(SocketError) {
            try OwnProcess.close()
        } catch {
            Self.complain("cannot keep others out of this process: \(error)")
            Glibc.exit(1)
        }
        let file = config ?? Self.standardConfig
        let settings: Handover<Settings>
        do throws(SettingsErrors) {
            var environment = SettingsEnvironment.process
            environment.passesOverCredentials = check
            settings = Handover(try Settings.load(file: file, environment: environment))
        } catch {
            Self.complain("\(error)")
            Glibc.exit(2)
        }
        if printConfig {
            print(settings.take().effectiveText, terminator: "")
        } else if check {
            for warning in settings.take().warnings { Self.complain("warning: \(warning)") }
            print("ok")
        } else {
            Glibc.exit(Self.serve(settings, from: file, level: logLevel))
        }
    }

    /// Runs the daemon to its end.
    ///
    /// - Parameter level: what the command line says is logged, whatever the file says; nil if it
    ///   leaves that to the file.
    private static func serve(
        _ settings: Handover<Settings>,
        from file: String,
        level: Logger.Level?
    ) -> Int32 {
        let log = LogDesk(settings.look { $0.log }, level: level)
        log.writeAtCrash()
        let source = SettingsSource(file: file)
        ServiceLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
        // The loop's thread has the capabilities until it has its sockets; this one only waits.
        ServiceLoop.start()
        // If it may not, that thread says so.
        try? OwnProcess.dropCapabilities()
        // After that: the thread has the capabilities of this one.
        log.startWriter()
        defer { log.flush() }
        return ServiceLoop.run {
            do throws(StartError) {
                let code = await (try Daemon(settings.take(), from: source, log: log)).run()
                ServiceManager.flush()
                return code
            } catch {
                log.logger.critical("\(error)")
                return 1
            }
        }
    }

    /// Writes a line to standard error.
    private static func complain(_ text: String) {
        let octets = Array(text.utf8) + [0x0A]
        // SAFETY: the octets live during the call.
        // A complaint that cannot be written has nobody left to read it.
        _ = unsafe octets.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// Something that is given away once, so that nothing of it stays where it was.
///
/// Settings have keys in them, and a key that was replaced shall not be kept by whoever started the
/// daemon with it.
private final class Handover<Value: Sendable>: Sendable {
    private let value: Lock<Value?>

    init(_ value: Value) { self.value = Lock(value) }

    /// What `see` finds in the value, which stays here.
    func look<Seen: Sendable>(_ see: (Value) -> Seen) -> Seen {
        value.withLock { value in
            guard let value else { preconditionFailure("looked at after it was given away") }
            return see(value)
        }
    }

    /// Gives the value away.
    func take() -> Value {
        let taken = value.withLock { value in
            defer { value = nil }
            return value
        }
        guard let taken else { preconditionFailure("given away twice") }
        return taken
    }
}
