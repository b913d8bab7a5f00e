// SPDX-License-Identifier: Apache-2.0

extension SettingsKind where Value == Duration? {
    static var fallbackDelay: SettingsKind {
        let durations = SettingsKind<Duration>.duration(SettingsLimits.fallbackAfter)
        return .scalar(
            "\(durations.expected), or `off`",
            schema: SettingsSchema.either(
                durations.schema,
                SettingsSchema.words(["off", "false"])
            ),
            read: { text throws(Mismatch) in
                guard text != "off", text != "false" else { return nil }
                return try SettingsKind<Duration>.duration(text, in: SettingsLimits.fallbackAfter)
            },
            write: { $0.map(durations.write) ?? .text("off") }
        )
    }
}
