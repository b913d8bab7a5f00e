// SPDX-License-Identifier: Apache-2.0
import Net

extension Alibaba {
    /// What a code of the vendor means, whatever the status it came with.
    ///
    /// The codes are those of page 2978980 and of the vendor's Android kit; `Throttling` and
    /// `Quota` are how its other APIs begin such codes.
    static func error(_ code: VendorCode, in reply: HTTPReply) -> VendorError {
        let status = reply.status
        switch code.text {
        case "MissingArgument", "InvalidHost", "TooManyHosts", "LimitExceeded",
            "SdnsNotSupported":
            return .refused(status: status, code: code)
        case _ where VendorCode.accountCodes.contains(code):
            return .unauthorized(status: status, code: code)
        case "SignatureExpired", "InvalidDuration":
            return .wrongTime(status: status, code: code)
        case "ServiceLevelDeny", "MethodNotAllowed", "InternalError":
            return .serverStatus(status, code: code)
        case let text where text.hasPrefix("Throttling") || text.hasPrefix("Quota"):
            return .limited(retryAfter: nil)
        default:
            return reply.error(code)
        }
    }

    /// The JSON of a reply with status 200, or the error that it stands for.
    static func json(in reply: HTTPReply) throws(VendorError) -> JSONValue {
        if reply.status != 200, reply.status != 429, let code = reply.code(in: "code") {
            throw error(code, in: reply)
        }
        return try reply.acceptedJSON()
    }
}
