// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Renderer of the metrics, one text at a time.
///
/// Requests for the same format share one text if they arrive before the rendering begins.
@ServiceLoop
final class ScrapeRenderer {
    private static let user: UInt32 = 0
    private let report: @ServiceLoop () -> MetricsReport
    private let queue: ManagementQueue
    private var pending: [Exposition.Form: Task<[UInt8], Never>] = [:]

    init(
        in queue: ManagementQueue = ManagementQueue(),
        _ report: @escaping @ServiceLoop () -> MetricsReport
    ) {
        self.queue = queue
        self.report = report
    }

    func request(_ head: ArraySlice<UInt8>) async -> ScrapeRequest {
        await queue.run(for: Self.user) { ScrapeRequest(head) }
    }

    func body(_ form: Exposition.Form) async -> [UInt8] {
        if let shared = pending[form] { return await shared.value }
        let scrape = ServiceLoop.task { [self] in
            await queue.run(for: Self.user) {
                pending[form] = nil
                let report = report()
                return await offLoop { report.octets(form) }
            }
        }
        pending[form] = scrape
        return await scrape.value
    }
}
