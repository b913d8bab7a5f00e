// SPDX-License-Identifier: Apache-2.0

// MARK: - Writing

extension Message {
    /// Encodes the message, which must fit into 65535 octets.
    package func encoded() -> [UInt8] {
        guard let octets = encodedIfItFits() else {
            preconditionFailure("a message has at most 65535 octets")
        }
        return octets
    }

    /// Encodes the message; nil above 65535 octets.
    package func encodedIfItFits() -> [UInt8]? {
        var builder = MessageBuilder(header: header)
        do throws(BuildError) {
            for question in questions { try builder.append(question) }
            for record in answers { try builder.append(record, to: .answer) }
            for record in authorities { try builder.append(record, to: .authority) }
            for record in additionals { try builder.append(record, to: .additional) }
            if let edns { try builder.append(edns) }
        } catch {
            return nil
        }
        return builder.finish()
    }
}
