// SPDX-License-Identifier: Apache-2.0
import Control
import Locks
import TestWorld
import Testing

@testable import Administration
@testable import Net

@Suite("Control handler of a daemon")
struct ControlHandlerTests {
    @ServiceLoop
    private func harness() throws -> ScenarioHarness {
        try ScenarioHarness(try Files.scenario("cache-hits-cost-no-call.rpl"))
    }

    @Test("a check does not describe the content of a secret's file")
    @ServiceLoop
    func hiddenSecret() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("not the key of this daemon", to: "key")
        let text = """
            upstreams: [{name: isp, url: "udp://192.0.2.53"}]
            routes: [{domains: [example.com], vendors: [t]}]
            vendors: {t: {kind: tencent, channel: aes, id: 1, key: {file: \(file)}}}
            """
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let reply = try await harness.operator.check(CheckRequest(text: text, file: "new.yaml"))
        let problem = try #require(reply.problems.first)
        #expect(reply.problems.count == 1)
        #expect(problem.file == "new.yaml" && problem.line == 3)
        #expect(problem.message == "the secret is not valid")
    }

    @Test("status reads resolv.conf on another thread")
    @ServiceLoop
    func resolvConf() async throws {
        let harness = try harness()
        defer { withExtendedLifetime(harness) {} }
        let isOnLoop = Lock<[Bool]>([])
        let handler = ControlHandler(harness.daemon) { _ in
            isOnLoop.withLock { $0.append(LoopExecutor.shared.isCurrent) }
            return ResolvConf(pointsHere: true, nameservers: ["192.0.2.1"])
        }
        let status = try await ServiceLoop.throwingTask { try await handler.status() }.value
        #expect(status.resolvConf.nameservers == ["192.0.2.1"])
        #expect(isOnLoop.withLock(\.self) == [false])
    }
}
