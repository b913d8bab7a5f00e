// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct HostsSettings: Sendable, Equatable {
    package var files = ["/etc/hosts"]
    package var records: [Record] = []

    package struct Record: Sendable, Equatable {
        package var name: Name
        package var addresses: [IPAddress]
    }

    package init() {}
}

// MARK: - Table

extension HostsSettings {
    static let table = SettingsTable<HostsSettings>(
        .option(
            "files",
            \.files,
            .list("absolute paths", of: .path(), count: SettingsLimits.hostsFiles)
        ) {
            """
            Files in the format of hosts(5). Each file can have up to 8 MiB. All files together \
            can have up to 16 MiB, 200,000 names and 400,000 addresses. If all files together \
            exceed a limit, the daemon reads the files in the order of their size, smallest first, \
            and ignores names and addresses beyond the limit; `status` shows the problem. The \
            daemon reads changed files again, and ignores invalid lines with a warning. A missing \
            file counts as empty. [] reads no file.
            """
        },
        .option("records", \.records, .hostRecords) {
            """
            Names and their addresses, for example {printer.lan: [192.0.2.9, "2001:db8::9"]}. The \
            daemon ignores entries in `files` for names in `records`.
            """
        }
    )
}

extension SettingsKind where Value == [HostsSettings.Record] {
    static var hostRecords: SettingsKind {
        let expected = "a mapping of names to lists of IP addresses"
        let addresses = SettingsKind<[IPAddress]>.list(
            "IP addresses",
            of: .ip,
            count: SettingsLimits.hostAddresses
        )
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard case .mapping(let pairs) = node.content else {
                    reading.reportMismatch(node, key, expected: expected)
                    return nil
                }
                var records: [HostsSettings.Record] = []
                var names: Set<Name> = []
                for pair in pairs {
                    guard let name = hostName(pair, key, &reading) else {
                        reading.damage(key)
                        continue
                    }
                    guard !names.contains(name) else {
                        reading.report(pair.keyPlace, "`\(name.text)` already has a record")
                        reading.damage(key)
                        continue
                    }
                    let item = key.item(records.count, name: pair.key.shortened)
                    guard let found = addresses.read(pair.value, item, &reading) else {
                        reading.damage(key)
                        continue
                    }
                    names.insert(name)
                    records.append(HostsSettings.Record(name: name, addresses: found))
                }
                return records
            },
            write: { records in
                .map(records.map { ($0.name.text, addresses.write($0.addresses)) })
            },
            schema: SettingsSchema.map(of: addresses.schema),
            join: { before, records in
                let names = Set(records.map(\.name))
                return before.filter { !names.contains($0.name) } + records
            }
        )
    }

    private static func hostName(
        _ pair: YAMLPair,
        _ key: SettingsKey,
        _ reading: inout SettingsReading
    ) -> Name? {
        guard let name = try? Name(pair.key), name.isHostname else {
            reading.report(
                pair.keyPlace,
                "`\(pair.key.shortened)` in `\(key.shown)` is not a host name"
            )
            return nil
        }
        guard
            name.labels.map({ String(decoding: $0, as: UTF8.self).lowercased() }).last
                != "localhost"
        else {
            reading.report(
                pair.keyPlace,
                "`\(pair.key.shortened)` always means this machine and cannot be set"
                    + " (RFC 6761 §6.3)"
            )
            return nil
        }
        return name
    }
}
