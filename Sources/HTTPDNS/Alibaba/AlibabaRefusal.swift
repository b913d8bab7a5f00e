// SPDX-License-Identifier: Apache-2.0
import Net

extension Alibaba {
    /// Returns the error for a vendor code in a reply with any HTTP status.
    ///
    /// Sources: Alibaba Cloud document 2978980 and the Android SDK.
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

    static func json(in reply: HTTPReply) throws(VendorError) -> JSONValue {
        if reply.status != 200, reply.status != 429, let code = reply.code(in: "code") {
            throw error(code, in: reply)
        }
        return try reply.acceptedJSON()
    }
}
