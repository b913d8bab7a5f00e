// SPDX-License-Identifier: Apache-2.0

/// Time to wait for the vendors before the upstreams are also queried.
package enum FallbackDelay: Sendable, Hashable {
    case off
    case after(Duration)

    /// Time to wait; nil if upstreams are queried only after all vendors have failed.
    package var delay: Duration? {
        switch self {
        case .off: nil
        case .after(let delay): delay
        }
    }
}

extension SettingsKind where Value == FallbackDelay {
    static var fallbackDelay: SettingsKind {
        let durations = SettingsKind<Duration>.duration(SettingsLimits.fallbackAfter)
        return .scalar(
            "\(durations.expected), or `off`",
            schema: SettingsSchema.either(
                durations.schema,
                SettingsSchema.words(["off", "false"])
            ),
            read: { text throws(Mismatch) in
                guard text != "off", text != "false" else { return .off }
                return .after(
                    try SettingsKind<Duration>.duration(text, in: SettingsLimits.fallbackAfter)
                )
            },
            write: { setting in
                switch setting {
                case .off: .text("off")
                case .after(let delay): durations.write(delay)
                }
            }
        )
    }
}
