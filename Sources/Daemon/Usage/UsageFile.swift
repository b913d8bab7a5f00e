// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
private import Locks
internal import Net

/// File `usage.state`: calls and units of each vendor, shared by all daemons of the machine.
///
/// The text has a header, a line for each vendor (`DAY LATEST-DAY CALLS UNITS UNITS-OF-MONTH
/// NAME`), and a checksum. Lines with the names `NAME (before)` and `NAME (ahead)` store the
/// properties `former` and `ahead` of a ``UsageRecord``. A line `PROVEN-AT UNPROVEN-AT LAST
/// OTHERS-AT 0 NAME (clients)` stores the property `clients`; daemons that do not know this line
/// keep it, as the line of another vendor.
///
/// If the file is damaged or empty, every budget with `on-exceeded: fallback` counts as exhausted
/// until ``reset(_:today:)``. If the file cannot be opened or written, the counts of vendors with
/// such a budget are unknown, and other counts are stored in memory.
@ServiceLoop
final class UsageFile: UsageStore {
    private let file: SharedFile
    private let memory = UsageMemory()

    /// Vendors with counts in ``memory`` that continue the counts of the file.
    private var continued: Set<String> = []

    private nonisolated let latest = Lock<([UInt8], [String: UsageRecord])>(([], [:]))

    private(set) var problem: String?
    private nonisolated static let headerStart = "httpdnsd usage "
    private nonisolated static let header = headerStart + "1"

    private nonisolated static let new = octets([:])

    /// Maximum number in a record, so that sums do not overflow.
    private nonisolated static let largestNumber: UInt64 = 1 << 60

    nonisolated init(directory: String) {
        file = SharedFile(directory + "/usage.state", initial: Self.new)
    }

    func update(
        _ vendor: String,
        today: Int64,
        durably: Bool,
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) -> UsageRecord? {
        var result: UsageRecord?
        let unwritten = Lock<UsageRecord?>(nil)
        do throws(SharedFile.Fault) {
            let (isOfOtherVersion, isWritten): (Bool, Bool)
            (result, isOfOtherVersion, isWritten) = try file.change { [latest] octets in
                let (known, knownRecords) = latest.withLock { $0 }
                // `known` is empty before the first write, but an empty file is damaged.
                // If the file was deleted, `SharedFile` created it again without records (`new`);
                // the known counts stay valid.
                let isKnown =
                    !known.isEmpty
                    && (octets.elementsEqual(known) || octets.elementsEqual(Self.new))
                guard var records = isKnown ? knownRecords : Self.records(octets) else {
                    return (nil, (nil, Self.isOfOtherVersion(octets), false))
                }
                var record = records[vendor] ?? UsageRecord(day: today)
                record.move(to: today)
                let isChanged = change(&record) || record.day != records[vendor]?.day
                records[vendor] = record
                guard isChanged else { return (nil, (record, false, false)) }
                unwritten.withLock { [record] in $0 = record }
                let content = Self.octets(records)
                latest.withLock { [records] in $0 = (content, records) }
                return (content, (record, false, true))
            }
            if result != nil, !isWritten, !durably, continued.contains(vendor) {
                return memory.update(vendor, today: today, durably: false, change)
            }
            let fault =
                isOfOtherVersion
                ? otherVersion
                : "damaged state file \(file.path); run `httpdnsctl bill --reset \(vendor)`, which"
                    + " sets the counts of all vendors to 0"
            problem = result == nil ? "usage unknown: \(fault)" : nil
            if isWritten { continued.remove(vendor) }
        } catch {
            switch error {
            case .unavailable(let why, let isObstructed):
                let hint = hint(isObstructed)
                problem = "usage \(durably ? "unknown" : "not stored"): \(why); \(hint)"
                if !durably { return memory.update(vendor, today: today, durably: false, change) }
            case .unwritten(let why):
                problem = "usage \(durably ? "unknown" : "not stored"): \(why); free disk space"
                if durably { return nil }
                if let record = unwritten.withLock(\.self), continued.insert(vendor).inserted {
                    return memory.update(vendor, today: today, durably: false) {
                        $0 = record
                        return true
                    }
                }
                return memory.update(vendor, today: today, durably: false, change)
            case .failed(let why): problem = "usage unknown: \(why)"
            }
        }
        return result
    }

    private func hint(_ isObstructed: Bool) -> String {
        isObstructed
            ? "remove \(file.path)"
            : "set $STATE_DIRECTORY to a directory in which the daemon can write, or correct the "
                + "permissions of \(file.path)"
    }

    private var otherVersion: String {
        "another version of httpdnsd has written \(file.path); install that version again"
    }

    func reset(_ vendor: String, today: Int64) throws(UsageStoreError) {
        let written: ([UInt8], [String: UsageRecord])?
        do throws(SharedFile.Fault) {
            written = try file.change { octets in
                guard !Self.isOfOtherVersion(octets) else { return (nil, nil) }
                var records = Self.records(octets) ?? [:]
                let clients = records[vendor]?.clients
                records[vendor] = UsageRecord(day: today)
                if let clients { records[vendor]?.clients = clients }
                let content = Self.octets(records)
                return (content, (content, records))
            }
        } catch {
            switch error {
            case .unavailable(let why, let isObstructed):
                throw UsageStoreError("\(why); \(hint(isObstructed))")
            case .unwritten(let why): throw UsageStoreError("\(why); free disk space")
            case .failed(let why): throw UsageStoreError(why)
            }
        }
        guard let written else { throw UsageStoreError(otherVersion) }
        // If the file is deleted later, the counts before the reset must not return.
        latest.withLock { $0 = written }
        problem = nil
    }
}

// MARK: - Text

extension UsageFile {
    /// Returns the text of the file; leaves out the earliest records if it would be too long.
    ///
    /// There is no limit on the age of a record, because the clock may be wrong.
    nonisolated static func octets(_ records: [String: UsageRecord]) -> [UInt8] {
        var length = header.utf8.count + checksumLength
        let newest = records.sorted { ($1.value.day, $0.key) < ($0.value.day, $1.key) }
        let entries = newest.map { ($0.key, lines($0.key, $0.value)) }.prefix {
            length += $0.1.count
            return length <= SharedFile.largest
        }
        let sorted = entries.sorted { $0.0 < $1.0 }
        let text = Array((header + "\n").utf8) + sorted.flatMap(\.1)
        return text + "checksum \(checksum(text))\n".utf8
    }

    private nonisolated static let checksumLength = 32

    private nonisolated static func lines(_ vendor: String, _ record: UsageRecord) -> [UInt8] {
        var text = line(
            (record.day, record.latestDay),
            UsageAmount(calls: record.callsToday, units: record.unitsToday),
            record.unitsThisMonth,
            vendor
        )
        for former in record.former {
            let days = (former.day, former.until)
            text += line(days, former.use, former.unitsOfMonth, vendor + before)
        }
        if record.ahead != .none || record.aheadOfMonth > 0 || record.behind != nil {
            let days = (record.behind ?? record.latestDay, record.latestDay)
            text += line(days, record.ahead, record.aheadOfMonth, vendor + ahead)
        }
        let latest = record.clients
        if latest != StoredClients() {
            let times = (latest.provenAt, latest.unprovenAt)
            let others = UsageAmount(calls: latest.last, units: UInt64(latest.othersAt))
            text += line(times, others, 0, vendor + clients)
        }
        return text
    }

    private nonisolated static let before = " (before)"
    private nonisolated static let ahead = " (ahead)"
    private nonisolated static let clients = " (clients)"

    private nonisolated static func line(
        _ days: (Int64, Int64),
        _ use: UsageAmount,
        _ unitsOfMonth: UInt64,
        _ name: String
    ) -> [UInt8] {
        var text: [UInt8] = []
        let numbers = [
            String(days.0), String(days.1), String(use.calls), String(use.units),
            String(unitsOfMonth),
        ]
        text.reserveCapacity(128)
        for word in numbers {
            text += word.utf8
            text.append(UInt8(ascii: " "))
        }
        text += name.utf8
        text.append(UInt8(ascii: "\n"))
        return text
    }

    /// Parses the text; returns nil if it is damaged.
    ///
    /// Splits octets, because splitting a `String` is slow.
    nonisolated static func records(_ octets: some Collection<UInt8>) -> [String: UsageRecord]? {
        let octets = Array(octets)
        var lines = octets.split(separator: UInt8(ascii: "\n"))
        guard octets.last == UInt8(ascii: "\n"), let last = lines.popLast(),
            lines.first?.elementsEqual(header.utf8) == true
        else { return nil }
        var body: [UInt8] = []
        for line in lines { body += line + [UInt8(ascii: "\n")] }
        guard last.elementsEqual("checksum \(checksum(body))".utf8) else { return nil }
        var records: [String: UsageRecord] = [:]
        for line in lines.dropFirst() {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            let numbers = fields.prefix(5).compactMap {
                Int64(String(decoding: $0, as: UTF8.self))
            }
            guard fields.count == 6, numbers.count == 5,
                numbers.allSatisfy({ $0.magnitude <= largestNumber }),
                numbers[2...].allSatisfy({ $0 >= 0 }),
                let name = String(validating: fields[5], as: UTF8.self)
            else { return nil }
            let use = UsageAmount(calls: UInt64(numbers[2]), units: UInt64(numbers[3]))
            let month = UInt64(numbers[4])
            if name.hasSuffix(before) {
                let former = UsageRecord.Former(
                    day: numbers[0],
                    until: numbers[1],
                    use: use,
                    unitsOfMonth: month
                )
                let vendor = String(name.dropLast(before.count))
                records[vendor]?.former.append(former)
            } else if name.hasSuffix(ahead) {
                let vendor = String(name.dropLast(ahead.count))
                records[vendor]?.ahead = use
                records[vendor]?.aheadOfMonth = month
                records[vendor]?.behind = numbers[0] == numbers[1] ? nil : numbers[0]
            } else if name.hasSuffix(clients) {
                records[String(name.dropLast(clients.count))]?.clients = StoredClients(
                    last: use.calls,
                    othersAt: numbers[3],
                    provenAt: numbers[0],
                    unprovenAt: numbers[1]
                )
            } else {
                records[name] = UsageRecord(
                    day: numbers[0],
                    latestDay: numbers[1],
                    calls: use.calls,
                    units: use.units,
                    unitsThisMonth: month
                )
            }
        }
        return records
    }

    private nonisolated static func isOfOtherVersion(_ octets: some Collection<UInt8>) -> Bool {
        let line = octets.prefix { $0 != UInt8(ascii: "\n") }
        let version = line.dropFirst(headerStart.utf8.count)
        return line.starts(with: headerStart.utf8) && !line.elementsEqual(header.utf8)
            && !version.isEmpty && version.allSatisfy { 48...57 ~= $0 }
    }

    /// Returns a 64-bit FNV-1a hash, which detects torn writes and edits, but not an attack.
    private nonisolated static func checksum(_ octets: [UInt8]) -> String {
        let hash = octets.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 16)
    }
}
