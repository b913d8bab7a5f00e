// SPDX-License-Identifier: Apache-2.0
import Net

extension HTTPReply {
    /// The body of a reply with status 200 and at most `limit` octets.
    ///
    /// - Throws: `VendorError.unauthorized`, `.limited`, `.serverStatus` or `.unreadable`.
    func acceptedBody(
        limit: Int = VendorLimits.maximumBody
    ) throws(VendorError) -> [UInt8] {
        guard status == 200 else { throw error() }
        guard body.count <= limit else { throw .unreadable(.tooLarge(octets: body.count)) }
        return body
    }

    /// The body of a reply with status 200, as JSON.
    ///
    /// - Throws: as `acceptedBody()`.
    func acceptedJSON() throws(VendorError) -> JSONValue {
        try JSONValue.read(try acceptedBody(limit: VendorLimits.maximumJSON))
    }

    /// What a status other than 200 means, with the vendor's own word for it.
    func error(_ code: VendorCode? = nil) -> VendorError {
        switch status {
        case 401, 403: .unauthorized(status: status, code: code)
        case 429: .limited(retryAfter: retryAfterSeconds.map(Duration.seconds))
        default: .serverStatus(status, code: code)
        }
    }

    /// The vendor's word in the member `key` of a body that explains a refusal; nil without one.
    func code(in key: String) -> VendorCode? {
        guard body.count <= VendorLimits.maximumBody, let json = try? JSONValue.read(body) else {
            return nil
        }
        return json[key]?.text.flatMap(VendorCode.init)
    }

    /// `Retry-After` in seconds, capped; its other form, a date, counts as none (RFC 9110 §10.2.3).
    private var retryAfterSeconds: Int64? {
        guard let retryAfter, !retryAfter.isEmpty,
            retryAfter.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        // Digits that do not fit an Int64 are still a number, only an absurd one.
        return min(Int64(retryAfter) ?? .max, VendorLimits.maximumRetryAfter)
    }
}
