// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension FuzzTarget {
    static let name = FuzzTarget(name: "name") { octets in
        switch NameOracle.read(octets) {
        case .success(let name): try NameOracle.judge(name)
        case .failure(let error): try NameOracle.judge(error, octets)
        }
        if let text = String(validating: octets, as: UTF8.self) {
            try NameOracle.judgeAddresses(text)
        }
    }
}

private enum NameOracle {
    static func read(_ octets: [UInt8]) -> Result<Name, NameTextError> {
        Result { () throws(NameTextError) in try Name(text: octets[...]) }
    }

    static func judge(_ name: Name) throws {
        for text in [name.text, name.description] {
            try promise(text.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "not printable: \(text)")
            let again = try Name(text)
            try promise(again.octets == name.octets, "\(text) is another name")
            let octets = Array(text.uppercased().utf8)
            try promise(
                name.isWritten(in: octets, at: octets.indices) == name.isHostname,
                "\(text) is not the text"
            )
        }
        let wire = try Name(wire: name.octets)
        try promise(wire == name && wire.hashValue == name.hashValue, "the wire form differs")
        try promise(name.octets.count <= 255, "longer than 255 octets")

        let lower = name.lowercased
        try promise(lower == name && lower.hashValue == name.hashValue, "letter case matters")
        try promise(name.isEqualOrBelow(lower) && name.isEqualOrBelow(.root), "not below itself")
        var text: [UInt8] = []
        try promise(name.appendHostText(to: &text) == name.isHostname, "wrong host text")
        if name.isHostname {
            let host = String(decoding: text, as: UTF8.self)
            try promise(try Name(host).octets == lower.octets, "\(host) is another host")
        }
        try judgeLabels(name)
    }

    private static func judgeLabels(_ name: Name) throws {
        var built = Name.root
        for label in Array(name.labels).reversed() {
            let longer = try Name(wire: [UInt8(label.count)] + label + built.octets)
            try promise(longer.parent == built, "wrong parent")
            try promise(longer.isEqualOrBelow(built), "not below its parent")
            try promise(!built.isEqualOrBelow(longer), "below its child")
            built = longer
        }
        try promise(built.octets == name.octets, "wrong labels")
    }

    static func judge(_ error: NameTextError, _ octets: [UInt8]) throws {
        let place: Int? =
            switch error {
            case .empty, .nameTooLong: nil
            case .emptyLabel(let place), .labelTooLong(let place), .badEscape(let place),
                .unescaped(let place):
                place
            }
        if let place { try promise(octets.indices.contains(place), "\(error) is not in the text") }
        try promise((error == .empty) == octets.isEmpty, "\(error)")
    }

    static func judgeAddresses(_ text: String) throws {
        if let address = IPAddress(text) {
            try promise(IPAddress(address.description) == address, "\(text) is another address")
            try promise(IPAddress(octets: address.octets) == address, "wrong octets")
        }
        if let prefix = IPPrefix(text) {
            try promise(IPPrefix(prefix.description) == prefix, "\(text) is another block")
            try promise(prefix.contains(prefix.address), "\(text) is not in itself")
        }
    }
}
