// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
import Glibc
package import Net

/// Properties of the process and the machine that affect the settings.
///
/// The initial values of the functions cause no error or warning, and do not access the disk, which
/// may be slow. At the start of the daemon, only `isLocal` and `memoryLimit` are replaced.
///
/// Functions with names that begin with `may` return false only if the answer is certainly no.
package struct SettingsEnvironment: Sendable {
    package var credentialsDirectory: String?

    /// Value of `$STATE_DIRECTORY`; nil if the variable is not set.
    var stateDirectories: String?

    /// True for `--check`: a missing credential is only a warning.
    package var passesOverCredentials = false

    /// True if libcurl supports HTTP/3; nil to ask libcurl.
    package var hasHTTP3: Bool?

    package var isLocal: @Sendable (SocketAddress) -> Bool

    var lacksInterface: @Sendable (SocketAddress) -> Bool = { _ in false }

    var isAbsent: @Sendable (SocketAddress) -> Bool = { _ in false }

    package var mayBeDirectory: @Sendable (String) -> Bool = { _ in true }

    package var isDirectory: @Sendable (String) -> Bool = { _ in false }

    /// Returns why a path is not the path of a regular file; nil if it is, or if no file exists.
    var irregularity: @Sendable (String) -> String? = { _ in nil }

    /// Returns why the daemon does not replace the file at a path by its snapshot of the cache.
    var snapshotFault: @Sendable (String) -> String? = { _ in nil }

    package var mayExist: @Sendable (String) -> Bool = { _ in true }

    package var mayBeSocket: @Sendable (String) -> Bool = { _ in true }

    package var mayBeGroup: @Sendable (String) -> Bool = { _ in true }

    package var resolverFault: @Sendable (String) -> String? = { _ in nil }

    /// Returns the installed units of the service; nil except for `--check`.
    var serviceUnits: @Sendable () -> ServiceUnits? = { nil }

    /// Returns false if the system refuses the address space for a cache of this size in octets.
    package var mayCreateCache: @Sendable (Int) -> Bool = { _ in true }

    /// Octets; nil for no limit.
    package var memoryLimit: @Sendable () -> Int? = { nil }

    package init(
        credentialsDirectory: String? = nil,
        hasHTTP3: Bool? = nil,
        isLocal: @escaping @Sendable (SocketAddress) -> Bool = { _ in false }
    ) {
        self.credentialsDirectory = credentialsDirectory
        self.hasHTTP3 = hasHTTP3
        self.isLocal = isLocal
    }

    package static var process: SettingsEnvironment {
        var environment = SettingsEnvironment(
            credentialsDirectory: variable("CREDENTIALS_DIRECTORY"),
            isLocal: { $0.isLocal }
        )
        environment.stateDirectories = variable("STATE_DIRECTORY")
        environment.memoryLimit = { MemoryLimit.current }
        return environment
    }

    package static var check: SettingsEnvironment {
        var environment = reload
        environment.passesOverCredentials = true
        environment.serviceUnits = { ServiceUnits() }
        return environment
    }

    /// Environment for a reload, and for the method `Check` of the daemon.
    package static var reload: SettingsEnvironment {
        var environment = process
        environment.lacksInterface = { $0.lacksInterface }
        let isLocal = environment.isLocal
        environment.isAbsent = { address in
            !address.ip.isUnspecified && !address.ip.isLoopback && !address.lacksInterface
                && !isLocal(address)
        }
        environment.mayBeDirectory = { RegularFile.fault(of: $0)?.isAbsence == false }
        environment.mayExist = { RegularFile.fault(of: $0)?.isAbsence != true }
        environment.mayBeSocket = {
            switch RegularFile.fault(of: $0) {
            case nil, .notRegular: false
            default: true
            }
        }
        environment.mayBeGroup = { GroupFile.number(of: $0) != nil }
        environment.mayCreateCache = { AnswerCache.fits(limit: $0) }
        environment.resolverFault = { ResolverFileWatch.fault(of: $0) }
        environment.snapshotFault = { path in
            do throws(FileError) {
                let octets = try RegularFile(path).read(atMost: 1 << 16, cuts: true)
                return SnapshotReader.isForeign(octets) ? "is not a cache snapshot" : nil
            } catch .notRegular {
                return "is not a regular file"
            } catch {
                return nil
            }
        }
        environment.irregularity = { path in
            guard case .notRegular(let kind) = RegularFile.fault(of: path) else { return nil }
            return FileError.notRegular(kind).reason
        }
        environment.isDirectory = { RegularFile.fault(of: $0) == .notRegular(.directory) }
        return environment
    }

    package static var stateDirectory: String? {
        variable("STATE_DIRECTORY").flatMap(firstPath)
    }

    /// Returns the first path of a colon-separated list; nil if this path is not absolute.
    static func firstPath(in list: String) -> String? {
        list.hasPrefix("/") ? String(list.prefix { $0 != ":" }) : nil
    }

    private static func variable(_ name: String) -> String? {
        // SAFETY: this program never changes its environment, and the string is copied.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}

/// Reason why a secret could not be read, without parts of the secret.
struct SecretError: Error, Hashable {
    var message: String
    var hint: String?

    /// True if a credential cannot be read because systemd passed no credentials to this process.
    ///
    /// If the units name the file of the credential, this flag is true only if this process has no
    /// permission to read this file.
    var isUnavailable = false

    /// True if the message depends on the content or length of the file.
    var describesContent = false
}

// MARK: - Secrets

extension SettingsEnvironment {
    static let maximumSecretOctets = 4096

    /// Reads a secret without its final newline.
    func secret(from source: SecretSetting.Source) throws(SecretError) -> SecretSetting {
        let path: String
        switch source {
        case .file(let file): path = file
        case .credential(let name):
            guard let credentialsDirectory else {
                throw SecretError(
                    message: "there are no credentials: $CREDENTIALS_DIRECTORY is not set",
                    hint: "systemd sets this variable for units with LoadCredential=\(name):PATH",
                    isUnavailable: true
                )
            }
            guard name != ".", name != ".." else {
                throw SecretError(message: "`\(name)` is not a credential name")
            }
            path = credentialsDirectory + "/" + name
        }
        return try secret(in: path, from: source)
    }

    func secret(
        in path: String,
        from source: SecretSetting.Source
    ) throws(SecretError) -> SecretSetting {
        let isCredential = if case .credential = source { true } else { false }
        var octets: [UInt8]
        do throws(FileError) {
            let file = try RegularFile(path)
            // systemd protects the directory of credentials, so their mode is not checked.
            if !isCredential, file.mode & 0o007 != 0 { throw FileError.openToTheWorld }
            octets = try file.read(atMost: Self.maximumSecretOctets)
        } catch {
            throw SecretError(
                message: "\(path) \(error.reason)",
                hint: error == .openToTheWorld ? "run `chmod o= \(path)`" : nil,
                isUnavailable: isCredential && credentialsDirectory == nil
                    && error == .system(EACCES),
                describesContent: error == .tooLong(limit: Self.maximumSecretOctets)
            )
        }
        if octets.last == UInt8(ascii: "\n") { octets.removeLast() }
        if octets.last == UInt8(ascii: "\r") { octets.removeLast() }
        guard !octets.isEmpty else {
            throw SecretError(message: "\(path) is empty", describesContent: true)
        }
        return SecretSetting(wiping: &octets, source: source)
    }
}
