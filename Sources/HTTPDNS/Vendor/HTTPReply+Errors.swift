// SPDX-License-Identifier: Apache-2.0
import Net

extension HTTPReply {
    func acceptedBody(
        limit: Int = VendorLimits.maximumBody
    ) throws(VendorError) -> [UInt8] {
        guard status == 200 else { throw error() }
        guard body.count <= limit else { throw .unreadable(.tooLarge(octets: body.count)) }
        return body
    }

    func acceptedJSON() throws(VendorError) -> JSONValue {
        try JSONValue.read(try acceptedBody(limit: VendorLimits.maximumJSON))
    }

    func error(_ code: VendorCode? = nil) -> VendorError {
        switch status {
        case 401, 403: .unauthorized(status: status, code: code)
        case 429: .limited(retryAfter: retryAfterSeconds.map(Duration.seconds))
        default: .serverStatus(status, code: code)
        }
    }

    func code(in key: String) -> VendorCode? {
        guard body.count <= VendorLimits.maximumBody, let json = try? JSONValue.read(body) else {
            return nil
        }
        return json[key]?.text.flatMap(VendorCode.init)
    }

    /// Seconds of `Retry-After`, up to a limit; nil if the header has a date (RFC 9110 §10.2.3).
    private var retryAfterSeconds: Int64? {
        guard let retryAfter, !retryAfter.isEmpty,
            retryAfter.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return min(Int64(retryAfter) ?? .max, VendorLimits.maximumRetryAfter)
    }
}
