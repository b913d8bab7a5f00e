// SPDX-License-Identifier: Apache-2.0
package import Net

extension VendorClient {
    /// Fetches the vendor's own count of resolutions; the request is not billed.
    package func fetchCount(
        _ call: AlibabaResolveCount,
        at server: SocketAddress
    ) async -> Result<ResolveCount, VendorError> {
        let deadline = clocks.now() + ClientLimits.countTimeout
        var request: HTTPRequest
        do throws(VendorError) {
            request = try call.request(at: server, now: clocks.wallSeconds(), entropy: entropy)
        } catch {
            return .failure(error)
        }
        request.certificateFile = settings.certificateFile
        request.proxy = settings.proxy
        let (sent, _) = await send(request, until: deadline)
        let reply = sent.mapError(VendorError.transport)
        return Result { () throws(VendorError) in try call.count(in: try reply.get()) }
    }
}
