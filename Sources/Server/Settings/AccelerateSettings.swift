// SPDX-License-Identifier: Apache-2.0

/// Whether the kernel answers in our place where it can.
package struct AccelerateSettings: Sendable, Equatable {
    /// Whether it answers programs of this machine.
    package var loopback = Loopback.auto

    /// Answers that it is given at most; each takes a kibibyte of the kernel's memory.
    package var entries = 65_536

    package enum Loopback: String, Sendable, Hashable, CaseIterable {
        case auto, off, required
    }

    package init() {}
}

extension AccelerateSettings {
    static let table = SettingsTable<AccelerateSettings>(
        .option(
            "loopback",
            \.loopback,
            .choice(),
            """
            Whether queries that come over loopback are answered before they reach the daemon: by a \
            program in the kernel that has copies of the answers in demand. It takes Linux 6.6 and the \
            capabilities CAP_BPF and CAP_NET_ADMIN, see httpdnsd-accelerate.conf; with `auto` the \
            daemon goes without if it has not got them, with `required` it does not start.
            """
        ),
        .option(
            "entries",
            \.entries,
            .integer(SettingsLimits.accelerated),
            """
            How many answers the kernel has at most. Each takes a kibibyte, from when it is there.
            """
        )
    )
}
