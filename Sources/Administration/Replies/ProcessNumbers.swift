// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import Glibc
internal import Net

enum ProcessNumbers {
    /// A value that cannot be read is 0.
    static var now: ProcessStats {
        var stats = ProcessStats()
        stats.rssOctets = status("VmRSS:") * 1024
        stats.threads = status("Threads:")
        stats.descriptors = descriptors
        var usage = rusage()
        // SAFETY: one structure is filled.
        if unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            stats.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }
        return stats
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000
    }

    private static func status(_ key: String) -> UInt64 {
        guard let octets = try? RegularFile("/proc/self/status").read(atMost: 64 << 10) else {
            return 0
        }
        for line in String(decoding: octets, as: UTF8.self).split(separator: "\n")
        where line.hasPrefix(key) {
            return line.dropFirst(key.count).split(whereSeparator: \.isWhitespace).first
                .flatMap { UInt64($0) } ?? 0
        }
        return 0
    }

    private static var descriptors: UInt64 {
        // SAFETY: the directory is open until the end of this function.
        guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(directory) }
        var count: UInt64 = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Subtracts `.`, `..` and the descriptor of the directory.
        return count > 3 ? count - 3 : 0
    }
}
