// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension Settings {
    /// Each channel has what it needs.
    func checkVendors(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.vendors))
        for (index, vendor) in vendors.enumerated() {
            let path = "vendors[\(index)]"
            let place = reading.place(of: path)
            if !reading.isDamaged("\(path).kind"), !reading.isDamaged("\(path).channel"),
                !reading.isDamaged(path)
            {
                checkSecrets(of: vendor, path, &reading)
            }
            if !named.contains(vendor.name), !reading.isDamaged("routes") {
                reading.warn(place, "no route names the vendor `\(vendor.name)`")
            }
        }
    }

    /// The id, token and key fit the channel.
    private func checkSecrets(
        of vendor: VendorSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let channel = vendor.channel.rawValue
        let needs = vendor.channel == .https ? ["token"] : ["id", "key"]
        for option in needs where !reading.has("\(path).\(option)") {
            let hasKey = reading.has("\(path).key")
            reading.report(
                reading.place(of: path),
                "the vendor `\(vendor.name)` needs `\(option)` for its channel \(channel)",
                hint: option == "token" && hasKey ? "with a key its channel is `aes` or `des`" : nil
            )
        }
        if vendor.channel == .https {
            let isNumber = vendor.token.map { token in
                token.value.copy.allSatisfy { (0x30...0x39).contains($0) }
            }
            if isNumber == false {
                reading.report(
                    reading.place(of: "\(path).token"),
                    "the token is not a decimal number"
                )
            }
        } else if let count = vendor.key?.value.count {
            let right = vendor.channel == .aes ? 16 : 8
            let place = reading.place(of: "\(path).key")
            if count != right {
                reading.report(
                    place,
                    "the key has \(count) octets; the channel \(channel) takes exactly \(right)",
                    hint: vendor.channel == .des && count > right
                        ? "of longer keys others silently use the first 8 octets: keep only those"
                        : nil
                )
            }
            if vendor.channel == .des {
                reading.warn(
                    reading.place(of: "\(path).channel"),
                    "DES can be broken: prefer the channel `aes` or `https`"
                )
            }
        }
    }
}
