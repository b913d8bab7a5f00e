// SPDX-License-Identifier: Apache-2.0

/// Varlink method call.
package struct Call: Sendable, Equatable {
    package var method: String
    package var parameters: [String: JSONValue]

    package var more: Bool

    package var oneway: Bool

    package var upgrade: Bool

    // MARK: - Making

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

    /// - Throws: `EncodingError` for NaN and infinity.
    package init(_ method: String, arguments: some CallParameters) throws {
        let octets = try JSONText.encode(arguments)
        self.init(method, parameters: try JSONText.decode([String: JSONValue].self, from: octets))
    }

    /// Decodes a message without its NUL.
    ///
    /// - Throws: `notUTF8` or `malformed`.
    package init(message: [UInt8]) throws(ProtocolError) {
        try JSONText.checkSize(
            of: message,
            maximumNesting: ControlLimits.callNesting,
            maximumValues: ControlLimits.callValues
        )
        do {
            self = try JSONText.decode(Call.self, from: message)
        } catch {
            throw ProtocolError(wrapping: error)
        }
    }

    // MARK: - Reading

    /// Part of `method` before the last dot; may be empty.
    package var interface: String { method.lastIndex(of: ".").map { String(method[..<$0]) } ?? "" }

    package func message() throws -> [UInt8] { try JSONText.encode(self) + [0] }

    /// - Throws: `invalidParameter` with the name of an argument that is unknown, missing or of the
    ///   wrong type.
    package func arguments<Arguments: CallParameters>(
        as type: Arguments.Type
    ) throws(MethodError) -> Arguments {
        let known = type.CodingKeys.allCases.map { JSONText.fieldName($0.stringValue) }
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

/// Arguments of a method.
package protocol CallParameters: Codable, Sendable {
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
    /// Top-level field that contains the error; nil if the error concerns the whole document.
    var field: String? {
        let key: (any CodingKey)? =
            switch self {
            case .keyNotFound(let key, let context): context.codingPath.first ?? key
            case .typeMismatch(_, let context), .valueNotFound(_, let context),
                .dataCorrupted(let context):
                context.codingPath.first
            @unknown default: nil
            }
        return key.map { JSONText.fieldName($0.stringValue) }
    }

    /// Description of the error, which quotes no values of the decoded message.
    var summary: String {
        switch self {
        case .keyNotFound(let key, _): "\"\(JSONText.fieldName(key.stringValue))\" is missing"
        case .typeMismatch, .valueNotFound:
            field.map { "\"\($0)\" has the wrong type" } ?? "not an object"
        case .dataCorrupted: field.map { "\"\($0)\" has an invalid value" } ?? "not JSON"
        @unknown default: "not readable"
        }
    }
}
