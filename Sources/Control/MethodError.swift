// SPDX-License-Identifier: Apache-2.0

/// Errors in replies, as in <doc:Protocol>.
package enum MethodError: Error, Equatable, Sendable {
    case notFound(what: String)
    case invalidArgument(argument: String, reason: String)
    case denied(reason: String)
    case failed(reason: String)
    case interfaceNotFound(String)
    case methodNotFound(String)
    case methodNotImplemented(String)
    case invalidParameter(String)
    case expectedMore

    /// Error name that this version does not know.
    case unknown(name: String, parameters: JSONValue)
}

// MARK: - Names

extension MethodError {
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

    /// Decodes an error; an unknown name becomes `unknown`.
    package init(name: String, parameters: JSONValue) {
        let text = { (field: String) in parameters[field]?.text ?? "" }
        self =
            switch name {
            case ControlInterface.name + ".NotFound": .notFound(what: text("what"))
            case ControlInterface.name + ".InvalidArgument":
                .invalidArgument(argument: text("argument"), reason: text("reason"))
            case ControlInterface.name + ".Denied": .denied(reason: text("reason"))
            case ControlInterface.name + ".Failed": .failed(reason: text("reason"))
            case ServiceInterface.name + ".InterfaceNotFound": .interfaceNotFound(text("interface"))
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
    package var description: String {
        switch self {
        case .notFound(let what): "not found: \(what)"
        case .invalidArgument(let argument, let reason): "\(argument): \(reason)"
        case .denied(let reason): "denied: \(reason)"
        case .failed(let reason): reason
        case .interfaceNotFound(let interface): "no interface \(interface)"
        case .methodNotFound(let method): "no method \(method)"
        case .methodNotImplemented(let method): "method \(method) is not supported"
        case .invalidParameter(let parameter): "parameter \"\(parameter)\" is invalid"
        case .expectedMore: "the method requires a call with \"more\""
        case .unknown(let name, _): "error \(name)"
        }
    }
}
