// SPDX-License-Identifier: Apache-2.0

/// Why a method did not do what it was asked: the errors a reply can carry.
package enum MethodError: Error, Equatable, Sendable {
    /// Nothing matches `what`, such as a name the cache does not hold.
    case notFound(what: String)

    /// An argument has the right type but not a value the method takes.
    case invalidArgument(argument: String, reason: String)

    /// The caller may not use this method.
    case denied(reason: String)

    /// The method was right and went wrong.
    case failed(reason: String)

    /// There is no such interface.
    case interfaceNotFound(String)

    /// The interface has no such method.
    case methodNotFound(String)

    /// The method is known and not offered.
    case methodNotImplemented(String)

    /// A parameter is unknown, missing or of another type.
    case invalidParameter(String)

    /// The method answers only calls that take several replies.
    case expectedMore

    /// An error this end does not know, from a peer of another version.
    case unknown(name: String, parameters: JSONValue)
}

// MARK: - Names

extension MethodError {
    /// The full name on the wire.
    package var name: String {
        switch self {
        case .notFound: ControlInterface.name + ".NotFound"
        case .invalidArgument: ControlInterface.name + ".InvalidArgument"
        case .denied: ControlInterface.name + ".Denied"
        case .failed: ControlInterface.name + ".Failed"
        case .interfaceNotFound: ServiceInterface.name + ".InterfaceNotFound"
        case .methodNotFound: ServiceInterface.name + ".MethodNotFound"
        case .methodNotImplemented: ServiceInterface.name + ".MethodNotImplemented"
        case .invalidParameter: ServiceInterface.name + ".InvalidParameter"
        case .expectedMore: ServiceInterface.name + ".ExpectedMore"
        case .unknown(let name, _): name
        }
    }

    /// What the error tells besides its name.
    package var parameters: [String: JSONValue] {
        switch self {
        case .notFound(let what): ["what": .string(what)]
        case .invalidArgument(let argument, let reason):
            ["argument": .string(argument), "reason": .string(reason)]
        case .denied(let reason), .failed(let reason): ["reason": .string(reason)]
        case .interfaceNotFound(let interface): ["interface": .string(interface)]
        case .methodNotFound(let method), .methodNotImplemented(let method):
            ["method": .string(method)]
        case .invalidParameter(let parameter): ["parameter": .string(parameter)]
        case .expectedMore: [:]
        case .unknown(_, .object(let parameters)): parameters
        case .unknown: [:]
        }
    }

    /// Reads an error from its wire form; a name not known here becomes `unknown`.
    package init(name: String, parameters: JSONValue) {
        let text = { (field: String) in parameters[field]?.text ?? "" }
        self =
            switch name {
            case ControlInterface.name + ".NotFound": .notFound(what: text("what"))
            case ControlInterface.name + ".InvalidArgument":
                .invalidArgument(argument: text("argument"), reason: text("reason"))
            case ControlInterface.name + ".Denied": .denied(reason: text("reason"))
            case ControlInterface.name + ".Failed": .failed(reason: text("reason"))
            case ServiceInterface.name + ".InterfaceNotFound":
                .interfaceNotFound(text("interface"))
            case ServiceInterface.name + ".MethodNotFound": .methodNotFound(text("method"))
            case ServiceInterface.name + ".MethodNotImplemented":
                .methodNotImplemented(text("method"))
            case ServiceInterface.name + ".InvalidParameter": .invalidParameter(text("parameter"))
            case ServiceInterface.name + ".ExpectedMore": .expectedMore
            default: .unknown(name: name, parameters: parameters)
            }
    }
}

// MARK: - Text

extension MethodError: CustomStringConvertible {
    /// One line for a terminal or a log.
    package var description: String {
        switch self {
        case .notFound(let what): "nothing found for \(what)"
        case .invalidArgument(let argument, let reason): "\(argument): \(reason)"
        case .denied(let reason): "denied: \(reason)"
        case .failed(let reason): reason
        case .interfaceNotFound(let interface): "no interface \(interface)"
        case .methodNotFound(let method): "no method \(method)"
        case .methodNotImplemented(let method): "method \(method) is not offered"
        case .invalidParameter(let parameter): "parameter \"\(parameter)\" is not right"
        case .expectedMore: "the method answers only calls with \"more\""
        case .unknown(let name, _): "error \(name)"
        }
    }
}
