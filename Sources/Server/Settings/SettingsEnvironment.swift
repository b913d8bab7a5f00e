// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Net

/// What reading settings takes from the process it runs in.
package struct SettingsEnvironment: Sendable {
    /// The directory of systemd's credentials, `$CREDENTIALS_DIRECTORY`.
    package var credentialsDirectory: String?

    /// Whether credentials that are not there are warned of, as in a check outside of the unit.
    package var passesOverCredentials = false

    /// Whether the installed libcurl speaks HTTP/3; nil: it is asked.
    package var hasHTTP3: Bool?

    /// Whether an address is one of this machine's.
    package var isLocal: @Sendable (SocketAddress) -> Bool

    package init(
        credentialsDirectory: String? = nil,
        hasHTTP3: Bool? = nil,
        isLocal: @escaping @Sendable (SocketAddress) -> Bool = { _ in false }
    ) {
        self.credentialsDirectory = credentialsDirectory
        self.hasHTTP3 = hasHTTP3
        self.isLocal = isLocal
    }

    /// The environment of this process.
    package static var process: SettingsEnvironment {
        // SAFETY: nothing in this program changes its environment, and the string is copied.
        let directory = unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
        return SettingsEnvironment(credentialsDirectory: directory) { address in
            // Only to an address of the machine's own can a socket be bound.
            var address = address
            address.port = 0
            return (try? DatagramListener(binding: address, shared: false)) != nil
        }
    }

    /// The directory that systemd makes for the state of the unit, the first of
    /// `$STATE_DIRECTORY`; nil if there is none.
    static var stateDirectory: String? {
        // SAFETY: as above.
        unsafe getenv("STATE_DIRECTORY").flatMap { list in
            let first = unsafe String(cString: list).prefix { $0 != ":" }
            return first.hasPrefix("/") ? String(first) : nil
        }
    }
}

/// Why a secret could not be read; holds nothing of it.
struct SecretError: Error, Hashable {
    var message: String
    var hint: String?

    /// Whether it cannot be known here if the secret is right: this process has no credentials.
    var isUnavailable = false
}

// MARK: - Secrets

extension SettingsEnvironment {
    /// The longest secret, in octets; real ones have 8 to 64.
    static let maximumSecretOctets = 4096

    /// Reads a secret and drops the newline that ends it.
    func secret(from source: SecretSetting.Source) throws(SecretError) -> SecretSetting {
        let path: String
        switch source {
        case .file(let file):
            path = file
        case .credential(let name):
            guard let credentialsDirectory else {
                throw SecretError(
                    message: "there are no credentials: $CREDENTIALS_DIRECTORY is not set",
                    hint: "systemd sets it for units with LoadCredential=\(name):PATH",
                    isUnavailable: true
                )
            }
            guard name != ".", name != ".." else {
                throw SecretError(message: "`\(name)` is no credential")
            }
            path = credentialsDirectory + "/" + name
        }

        var octets: [UInt8]
        do throws(FileError) {
            let file = try RegularFile(path)
            // Credentials are systemd's to protect; it does so by the directory.
            if case .file = source, file.mode & 0o007 != 0 {
                throw FileError.openToTheWorld
            }
            octets = try file.read(atMost: Self.maximumSecretOctets)
        } catch {
            throw SecretError(
                message: "\(path) \(error.reason)",
                hint: error == .openToTheWorld ? "chmod o= \(path)" : nil
            )
        }
        if octets.last == UInt8(ascii: "\n") { octets.removeLast() }
        if octets.last == UInt8(ascii: "\r") { octets.removeLast() }
        guard !octets.isEmpty else { throw SecretError(message: "\(path) is empty") }
        return SecretSetting(wiping: &octets, source: source)
    }
}
