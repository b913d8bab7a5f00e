// SPDX-License-Identifier: Apache-2.0

/// One call of a Varlink method, as it travels from the client to the daemon.
package struct Call: Sendable, Equatable {
    /// The full name of the method, such as `io.httpdnsd.Control.Status`.
    package var method: String

    /// The arguments; empty when the call has none.
    package var parameters: [String: JSONValue]

    /// Whether the client takes several replies to this call.
    package var more: Bool

    /// Whether the client wants no reply at all.
    package var oneway: Bool

    /// Whether the client wants to leave the protocol after the reply; never granted here.
    package var upgrade: Bool

    // MARK: - Making

    /// Makes a call without arguments, or with those given as JSON.
    package init(
        _ method: String,
        parameters: [String: JSONValue] = [:],
        more: Bool = false,
        oneway: Bool = false,
        upgrade: Bool = false
    ) {
        self.method = method
        self.parameters = parameters
        self.more = more
        self.oneway = oneway
        self.upgrade = upgrade
    }

    /// Makes a call with typed arguments.
    ///
    /// - Throws: `EncodingError` if they have no JSON form.
    package init(_ method: String, arguments: some CallParameters) throws {
        let octets = try JSONText.encode(arguments)
        self.init(method, parameters: try JSONText.decode([String: JSONValue].self, from: octets))
    }

    /// Reads a call from one message.
    ///
    /// - Throws: `notUTF8` or `malformed`.
    package init(message: [UInt8]) throws(ProtocolError) {
        do {
            self = try JSONText.decode(Call.self, from: message)
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    // MARK: - Reading

    /// The interface the method belongs to: all before the last dot; empty without a dot.
    package var interface: String {
        method.lastIndex(of: ".").map { String(method[..<$0]) } ?? ""
    }

    /// The message to send, with its final NUL.
    package func message() throws -> [UInt8] { try JSONText.encode(self) + [0] }

    /// The arguments as the type the method takes.
    ///
    /// - Throws: `invalidParameter` naming the first argument that is unknown, missing or of
    ///   another type; names are compared in alphabetical order.
    package func arguments<Arguments: CallParameters>(
        as type: Arguments.Type
    ) throws(MethodError) -> Arguments {
        let known = type.CodingKeys.allCases.map(\.stringValue)
        if let stranger = parameters.keys.sorted().first(where: { !known.contains($0) }) {
            throw .invalidParameter(stranger)
        }
        do {
            return try JSONText.decode(type, from: try JSONText.encode(parameters))
        } catch let error as DecodingError {
            throw .invalidParameter(error.field ?? "parameters")
        } catch {
            throw .invalidParameter("parameters")
        }
    }
}

/// The arguments of a method: a closed list of names.
package protocol CallParameters: Codable, Sendable {
    /// The JSON names of the arguments.
    associatedtype CodingKeys: CodingKey, CaseIterable
}

// MARK: - Coding

extension Call: Codable {
    private enum CodingKeys: String, CodingKey {
        case method, parameters, more, oneway, upgrade
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(String.self, forKey: .method),
            parameters: try container.decodeIfPresent(
                [String: JSONValue].self,
                forKey: .parameters
            ) ?? [:],
            more: try container.decodeIfPresent(Bool.self, forKey: .more) ?? false,
            oneway: try container.decodeIfPresent(Bool.self, forKey: .oneway) ?? false,
            upgrade: try container.decodeIfPresent(Bool.self, forKey: .upgrade) ?? false
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(method, forKey: .method)
        try container.encode(parameters, forKey: .parameters)
        if more { try container.encode(true, forKey: .more) }
        if oneway { try container.encode(true, forKey: .oneway) }
        if upgrade { try container.encode(true, forKey: .upgrade) }
    }
}

// MARK: - Errors of decoding

extension ProtocolError {
    /// The protocol's view of an error met while reading JSON.
    init(wrapping error: any Error) {
        self =
            switch error {
            case let error as ProtocolError: error
            case let error as DecodingError: .malformed(reason: error.summary)
            default: .malformed(reason: "not readable")
            }
    }
}

extension DecodingError {
    /// The outermost field the error is about; nil if it is about the document.
    var field: String? {
        switch self {
        case .keyNotFound(let key, let context):
            context.codingPath.first?.stringValue ?? key.stringValue
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .dataCorrupted(let context):
            context.codingPath.first?.stringValue
        @unknown default: nil
        }
    }

    /// What went wrong in a few words, without the text of the message.
    var summary: String {
        switch self {
        case .keyNotFound(let key, _): "\"\(key.stringValue)\" is missing"
        case .typeMismatch, .valueNotFound:
            field.map { "\"\($0)\" is of another type" } ?? "not an object"
        case .dataCorrupted: field.map { "\"\($0)\" has no such value" } ?? "not JSON"
        @unknown default: "not readable"
        }
    }
}
