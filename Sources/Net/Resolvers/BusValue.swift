// SPDX-License-Identifier: Apache-2.0

/// Value in a D-Bus message; a variant is represented by its content.
package indirect enum BusValue: Sendable, Hashable {
    case boolean(Bool)
    case number(Int64)

    /// String, object path or signature.
    case text(String)

    case octets([UInt8])

    case list([BusValue])

    case table([String: BusValue])

    package subscript(key: String) -> BusValue? {
        if case .table(let entries) = self { entries[key] } else { nil }
    }

    package var items: [BusValue] { if case .list(let items) = self { items } else { [] } }

    package var text: String? { if case .text(let text) = self { text } else { nil } }

    package var number: Int64? { if case .number(let number) = self { number } else { nil } }

    package var boolean: Bool? { if case .boolean(let boolean) = self { boolean } else { nil } }

    package var octets: [UInt8]? { if case .octets(let octets) = self { octets } else { nil } }
}
