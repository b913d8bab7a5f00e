// SPDX-License-Identifier: Apache-2.0

/// Settings of the BPF program that answers queries in the kernel.
package struct AccelerateSettings: Sendable, Equatable {
    package var loopback = Loopback.auto

    /// Each answer takes 1 KiB.
    package var entries = 65_536

    package enum Loopback: String, Sendable, Hashable, CaseIterable {
        case auto, off, required
    }
}

extension AccelerateSettings {
    static let table = SettingsTable<AccelerateSettings>(
        .option("loopback", \.loopback, .choice()) {
            """
            Answers queries over loopback in the kernel, from copies of frequently queried \
            answers. This requires Linux 6.6 and the capabilities CAP_BPF and CAP_NET_ADMIN, see \
            httpdnsd-accelerate.conf. If one of these requirements is not met, the daemon does not \
            start (`required`), or answers without the kernel (`auto`). With `auto`, the daemon \
            loads the BPF program one second after its own start, because an earlier load would \
            delay the first answers.
            """
        },
        .option("entries", \.entries, .integer(SettingsLimits.accelerated)) {
            "Maximum number of answers in the kernel. An answer takes 1 KiB of kernel memory."
        }
    )
}
