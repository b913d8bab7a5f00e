// SPDX-License-Identifier: Apache-2.0

package struct Reply: Sendable, Equatable {
    /// Results, or the parameters of the error.
    package var parameters: JSONValue

    package var continues: Bool

    package var error: String?

    // MARK: - Making

    package init(
        parameters: JSONValue = .object([:]),
        continues: Bool = false,
        error: String? = nil
    ) {
        self.parameters = parameters
        self.continues = continues
        self.error = error
    }

    package init(_ error: MethodError) {
        self.init(parameters: .object(error.parameters), error: error.name)
    }

    /// Decodes a message; ignores unknown fields.
    ///
    /// - Throws: `notUTF8` or `malformed`.
    package init(message: [UInt8]) throws(ProtocolError) {
        try JSONText.checkSize(of: message)
        do {
            self = try JSONText.decode(Reply.self, from: message)
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    /// Encodes `results` as a message with NUL, without building a ``JSONValue``.
    ///
    /// - Throws: `EncodingError` for NaN and infinity.
    package static func message(
        results: some Encodable,
        continues: Bool = false
    ) throws -> [UInt8] {
        let envelope = Envelope(parameters: results, continues: continues ? true : nil)
        // Appends the NUL to a variable, because `+ [0]` would copy the message.
        var message = try JSONText.encode(envelope)
        message.append(0)
        return message
    }

    // MARK: - Reading

    package func message() throws -> [UInt8] { try JSONText.encode(self) + [0] }

    /// - Throws: the `MethodError` in the reply, or `ProtocolError.malformed`.
    package func results<Results: Decodable>(as type: Results.Type) throws -> Results {
        if let error { throw MethodError(name: error, parameters: parameters) }
        do {
            return try JSONText.decode(type, from: try JSONText.encode(parameters))
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    /// Returns the results of a message; `continues` is true if more replies follow.
    ///
    /// - Throws: the `MethodError` in the reply, or `ProtocolError`.
    package static func results<Results: Decodable>(
        as type: Results.Type,
        in message: [UInt8]
    ) throws -> (results: Results, continues: Bool) {
        guard let envelope = try? JSONText.decode(Envelope<Results>.self, from: message) else {
            // The message may be an error reply; `results(as:)` throws its error.
            let reply = try Reply(message: message)
            return (try reply.results(as: type), reply.continues)
        }
        return (envelope.parameters, envelope.continues ?? false)
    }

    fileprivate struct Envelope<Parameters> {
        let parameters: Parameters
        let continues: Bool?
    }
}

extension Reply.Envelope: Encodable where Parameters: Encodable {}

extension Reply.Envelope: JSONWritable where Parameters: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("continues", continues)
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
