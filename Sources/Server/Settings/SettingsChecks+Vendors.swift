// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension Settings {
    /// Each vendor has what its kind and channel need.
    func checkVendors(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.vendors))
        for (index, vendor) in vendors.enumerated() {
            let path = "vendors[\(index)]"
            if reading.has("\(path).kind"), !reading.isDamaged("\(path).kind"),
                !reading.isDamaged(path)
            {
                switch vendor.account {
                case .tencent(let account):
                    guard !reading.isDamaged("\(path).channel") else { break }
                    check(account, of: vendor.name, path, &reading)
                case .alibaba(let account): check(account, of: vendor.name, path, &reading)
                case .json(let account): check(account, of: vendor.name, path, &reading)
                case .baidu(let account), .volcengine(let account): check(account, path, &reading)
                }
            }
            if !named.contains(vendor.name), !reading.isDamaged("routes") {
                reading.warn(reading.place(of: path), "no route names the vendor `\(vendor.name)`")
            }
        }
    }
}

// MARK: - Tencent

extension Settings {
    /// The id, token and key fit the channel.
    private func check(
        _ account: TencentSettings,
        of name: String,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let channel = account.channel.rawValue
        let needs = account.channel == .https ? ["token"] : ["id", "key"]
        for option in needs where !reading.has("\(path).\(option)") {
            let hasKey = reading.has("\(path).key")
            reading.report(
                reading.place(of: path),
                "the vendor `\(name)` needs `\(option)` for its channel \(channel)",
                hint: option == "token" && hasKey ? "with a key its channel is `aes` or `des`" : nil
            )
        }
        if account.channel == .https {
            let isNumber = account.token.map { token in
                token.value.copy.allSatisfy { (0x30...0x39).contains($0) }
            }
            if isNumber == false {
                reading.report(
                    reading.place(of: "\(path).token"),
                    "the token is not a decimal number"
                )
            }
        } else if let count = account.key?.value.count {
            let right = account.channel == .aes ? 16 : 8
            let place = reading.place(of: "\(path).key")
            if count != right {
                reading.report(
                    place,
                    "the key has \(count) octets; the channel \(channel) takes exactly \(right)",
                    hint: account.channel == .des && count > right
                        ? "of longer keys others silently use the first 8 octets: keep only those"
                        : nil
                )
            }
            if account.channel == .des {
                reading.warn(
                    reading.place(of: "\(path).channel"),
                    "DES can be broken: prefer the channel `aes` or `https`"
                )
            }
        }
    }
}

// MARK: - Others

extension Settings {
    /// Encryption has its key and its API, and plain HTTP is encrypted.
    private func check(
        _ account: AlibabaSettings,
        of name: String,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let isDamaged = ["api", "encryption", "scheme"].contains { option in
            reading.isDamaged("\(path).\(option)")
        }
        guard !isDamaged else { return }
        let encryption = account.encryption
        if encryption != .none, account.api == .v1 {
            reading.report(
                reading.place(of: "\(path).encryption"),
                "only the API v2 can be encrypted",
                hint: "leave `api: v1` out, or say `encryption: none`"
            )
        } else if encryption != .none, !reading.has("\(path).aes-key") {
            reading.report(
                reading.place(of: path),
                "the vendor `\(name)` needs `aes-key` for its encryption \(encryption.rawValue)"
            )
        }
        if encryption == .none, reading.has("\(path).aes-key") {
            reading.warn(
                reading.place(of: "\(path).aes-key"),
                "the key is not used, as nothing is encrypted",
                hint: "say `encryption: gcm`"
            )
        }
        if account.scheme == .http, encryption != .gcm {
            reading.warn(
                reading.place(of: "\(path).scheme"),
                "over plain HTTP others can forge answers",
                hint: "say `scheme: https` or `encryption: gcm`"
            )
        }
    }

    /// An account is there as a whole or not at all.
    private func check(
        _ account: JSONSettings,
        of name: String,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let parts = ["account", "access-key-id", "secret"]
        let missing = parts.filter { !reading.has("\(path).\($0)") }
        if missing.count < parts.count {
            for option in missing {
                reading.report(
                    reading.place(of: path),
                    "the vendor `\(name)` needs `\(option)` to sign calls",
                    hint: "`account`, `access-key-id` and `secret` go together"
                )
            }
        }
        if account.url?.scheme == .http {
            reading.warn(
                reading.place(of: "\(path).url"),
                "over plain HTTP others can read and forge answers",
                hint: "say https://"
            )
        }
    }

    /// Plain HTTP is at least known to be.
    private func check(
        _ account: SignedSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard account.scheme == .http else { return }
        reading.warn(
            reading.place(of: "\(path).scheme"),
            "over plain HTTP others can read and forge answers",
            hint: "say `scheme: https`"
        )
    }
}
