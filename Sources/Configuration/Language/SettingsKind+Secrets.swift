// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS
internal import Net

extension SettingsKind where Value == SecretSetting {
    /// Value type for a secret; `complaint` returns an error text without any part of the secret.
    static func secret(_ complaint: @escaping @Sendable (Secret) -> String?) -> SettingsKind {
        secret.rejecting(describesSecret: true) { secret, _ in
            complaint(secret.value).map { (message: $0, hint: nil) }
        }
    }

    /// Value type for `{file: PATH}` or `{credential: NAME}`; the secret is read immediately.
    ///
    /// Messages never quote an invalid value, which could be the secret itself.
    static var secret: SettingsKind {
        let expected = "{file: PATH} or {credential: NAME}"
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard let source = source(node, key, expected, &reading) else { return nil }
                do throws(SecretError) {
                    let secret = try reading.environment.secret(from: source)
                    reading.checkAccess(to: source, of: key, at: node.place)
                    return secret
                } catch {
                    return reading.secret(from: source, of: key, at: node.place, despite: error)
                }
            },
            write: { secret in
                switch secret.source {
                case .file(let path): .map([("file", .text(path))])
                case .credential(let name): .map([("credential", .text(name))])
                }
            },
            schema: SettingsSchema.secret
        )
    }

    private static func source(
        _ node: YAMLNode,
        _ key: SettingsKey,
        _ expected: String,
        _ reading: inout SettingsReading
    ) -> SecretSetting.Source? {
        let name = "`\(key.shown)`"
        guard case .mapping(let pairs) = node.content else {
            if node.scalar != nil, !node.isNull {
                reading.report(
                    node.place,
                    "\(name) must not be in the settings file",
                    hint:
                        "store it in a file that only httpdnsd can read, and write {file: PATH}"
                )
            } else {
                reading.reportMismatch(node, key, expected: expected)
            }
            return nil
        }
        guard pairs.count == 1, let pair = pairs.first, ["file", "credential"].contains(pair.key)
        else {
            reading.report(
                node.place,
                "\(name) must be \(expected)",
                hint: pairs.first.flatMap {
                    DidYouMean.hint(for: $0.key, among: ["file", "credential"])
                }
            )
            return nil
        }
        guard let text = pair.value.scalar, !pair.value.isNull else {
            reading.report(pair.value.place, "\(name) must be \(expected)")
            return nil
        }
        if pair.key == "file" {
            guard text.hasPrefix("/"), text.utf8.count <= SettingsLimits.pathOctets else {
                reading.report(
                    pair.value.place,
                    "`\(key.shown).file` must be an absolute path"
                )
                return nil
            }
            return .file(text)
        }
        guard EntryName.isValid(text) else {
            reading.report(
                pair.value.place,
                "`\(key.shown).credential` must be a valid credential name",
                hint: EntryName.rule
            )
            return nil
        }
        return .credential(text)
    }
}

extension SettingsReading {
    fileprivate mutating func checkAccess(
        to source: SecretSetting.Source,
        of key: SettingsKey,
        at place: YAMLPlace
    ) {
        switch source {
        case .file(let path):
            warnIfOnlyForRoot(
                path,
                at: place,
                hint: "write {credential: NAME}, run `systemctl edit httpdnsd` and add, below "
                    + "[Service], LoadCredential=NAME:\(path)"
            )
        case .credential(let name):
            guard environment.serviceUnits()?.credential(name) == .some(.none) else { return }
            warn(
                place,
                "`\(key.shown)`: httpdnsd.service does not pass the credential `\(name)`; "
                    + SettingsComplaint.outage,
                hint: "run `systemctl edit httpdnsd` and add, below [Service], LoadCredential="
                    + "\(name):/etc/httpdnsd/\(name)"
            )
        }
    }

    /// If $CREDENTIALS_DIRECTORY is not set, `--check` looks up the file of the credential in the
    /// units of the service, and reads this file.
    ///
    /// - Returns: the secret from this file; nil if there is no file, or the file is unreadable.
    fileprivate mutating func secret(
        from source: SecretSetting.Source,
        of key: SettingsKey,
        at place: YAMLPlace,
        despite error: SecretError
    ) -> SecretSetting? {
        var error = error
        if error.isUnavailable, environment.passesOverCredentials,
            case .credential(let name) = source
        {
            switch environment.serviceUnits()?.credential(name) {
            case .some(.none):
                checkAccess(to: source, of: key, at: place)
                return nil
            case .file(let path)?:
                do throws(SecretError) {
                    return try environment.secret(in: path, from: source)
                } catch let fault {
                    error = fault
                }
            case .other?, nil: break
            }
        }
        if error.isUnavailable, environment.passesOverCredentials {
            warn(
                place,
                "`\(key.shown)` is not checked: $CREDENTIALS_DIRECTORY is not set",
                hint: "if the credential is a file in /etc/httpdnsd, run `sudo env"
                    + " CREDENTIALS_DIRECTORY=/etc/httpdnsd httpdnsd --check`"
            )
        } else {
            report(
                place,
                "`\(key.shown)`: \(error.message)",
                hint: error.hint,
                describesSecret: error.describesContent
            )
        }
        return nil
    }
}

extension SettingsKind where Value == String {
    static var certificates: SettingsKind {
        let file = path().rejecting(expected: "the absolute path of a PEM file") { path, _ in
            if let fault = RegularFile.fault(of: path) {
                return (message: "\(path) \(fault.reason)", hint: nil)
            }
            return TrustStores.fault(of: path).map {
                (message: $0, hint: "the file must contain PEM certificates (BEGIN CERTIFICATE)")
            }
        }
        return SettingsKind(
            expected: file.expected,
            read: { node, key, reading in
                guard let path = file.read(node, key, &reading) else { return nil }
                reading.warnIfOnlyForRoot(path, at: node.place)
                return path
            },
            write: file.write,
            schema: file.schema
        )
    }
}
