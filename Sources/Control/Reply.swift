// SPDX-License-Identifier: Apache-2.0

/// One reply to a call: results or an error.
package struct Reply: Sendable, Equatable {
    /// The results, or what the error tells; empty when there is nothing to tell.
    package var parameters: JSONValue

    /// Whether more replies to the same call follow.
    package var continues: Bool

    /// The full name of an error; nil when the method succeeded.
    package var error: String?

    // MARK: - Making

    /// Makes a reply of its parts.
    package init(
        parameters: JSONValue = .object([:]),
        continues: Bool = false,
        error: String? = nil
    ) {
        self.parameters = parameters
        self.continues = continues
        self.error = error
    }

    /// Makes the reply that tells of an error.
    package init(_ error: MethodError) {
        self.init(parameters: .object(error.parameters), error: error.name)
    }

    /// Reads a reply from one message; fields it does not know are passed over.
    ///
    /// - Throws: `notUTF8` or `malformed`.
    package init(message: [UInt8]) throws(ProtocolError) {
        do {
            self = try JSONText.decode(Reply.self, from: message)
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    /// The message, final NUL included, that carries `results` without a detour over `JSONValue`.
    ///
    /// - Throws: `EncodingError` if they have no JSON form.
    package static func message(
        results: some Encodable,
        continues: Bool = false
    ) throws -> [UInt8] {
        let envelope = Envelope(parameters: results, continues: continues ? true : nil)
        return try JSONText.encode(envelope) + [0]
    }

    // MARK: - Reading

    /// The message to send, with its final NUL.
    package func message() throws -> [UInt8] { try JSONText.encode(self) + [0] }

    /// The results as the type the method returns.
    ///
    /// - Throws: the `MethodError` the daemon sent, or `ProtocolError.malformed`.
    package func results<Results: Decodable>(as type: Results.Type) throws -> Results {
        if let error { throw MethodError(name: error, parameters: parameters) }
        do {
            return try JSONText.decode(type, from: try JSONText.encode(parameters))
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    /// Reads the results of a message without a detour over `JSONValue`, and whether more follow.
    ///
    /// - Throws: the `MethodError` the daemon sent, or `ProtocolError`.
    package static func results<Results: Decodable>(
        as type: Results.Type,
        in message: [UInt8]
    ) throws -> (results: Results, continues: Bool) {
        guard let envelope = try? JSONText.decode(Envelope<Results>.self, from: message) else {
            // It has none, or others: the long way says what it has.
            let reply = try Reply(message: message)
            return (try reply.results(as: type), reply.continues)
        }
        return (envelope.parameters, envelope.continues ?? false)
    }

    /// A reply whose results keep their own type.
    fileprivate struct Envelope<Parameters> {
        /// The results.
        let parameters: Parameters

        /// True if more replies follow.
        let continues: Bool?

        private enum CodingKeys: String, CodingKey {
            case parameters, continues
        }
    }
}

extension Reply.Envelope: Encodable where Parameters: Encodable {}

extension Reply.Envelope: JSONWritable where Parameters: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if let continues {
                writer.name("continues")
                writer.value(continues)
            }
            writer.name("parameters")
            parameters.write(to: &writer)
        }
    }
}

extension Reply.Envelope: Decodable where Parameters: Decodable {}

// MARK: - Coding

extension Reply: Codable {
    private enum CodingKeys: String, CodingKey {
        case parameters, continues, error
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            parameters: try container.decodeIfPresent(JSONValue.self, forKey: .parameters)
                ?? .object([:]),
            continues: try container.decodeIfPresent(Bool.self, forKey: .continues) ?? false,
            error: try container.decodeIfPresent(String.self, forKey: .error)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(error, forKey: .error)
        try container.encode(parameters, forKey: .parameters)
        if continues { try container.encode(true, forKey: .continues) }
    }
}
