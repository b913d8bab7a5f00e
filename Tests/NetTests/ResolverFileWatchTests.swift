// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("DNS servers in a file", .timeLimit(.minutes(15)))
struct ResolverFileWatchTests {
    @Test
    @ServiceLoop
    func `the handler gets the reason why the file cannot be read, until it can be read`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = try folder.write([UInt8]("nameserver 192.0.2.53\n".utf8), to: "office", mode: 0)
        try #require(chmod(folder.path, 0o755) == 0)
        var found: [(servers: Int, fault: String?)] = []
        var told: CheckedContinuation<Void, Never>?
        var reports: [String] = []
        let watch = withoutPrivileges {
            ResolverFileWatch(path, isOwn: { _ in false }, report: { reports.append($0) }) {
                found.append(($0.count, $1))
                told?.resume()
                told = nil
            }
        }
        let fault = "\(path): open: Permission denied"
        #expect(found.map(\.servers) == [0] && found.last?.fault == fault)
        let consequence = "until this is corrected, the upstream has no server"
        #expect(reports == ["network resolvers: \(fault); \(consequence)"])
        await withCheckedContinuation {
            told = $0
            chmod(path, 0o644)
        }
        #expect(found.map(\.servers) == [0, 1] && found.last?.fault == nil)
        withExtendedLifetime(watch) {}
    }

    @Test
    @ServiceLoop
    func `an update on request reads all servers of the file again`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([UInt8]("nameserver 192.0.2.53\n".utf8), to: "office")
        var found: [Int] = []
        let watch = ResolverFileWatch(path, isOwn: { _ in false }, report: { _ in }) { servers, _ in
            found.append(servers.count)
        }
        _ = try folder.write(
            [UInt8]("nameserver 192.0.2.53\nnameserver 192.0.2.54\n".utf8),
            to: "office"
        )
        watch.update()
        #expect(found == [1, 2])
    }

    @Test
    @ServiceLoop
    func `an unreadable system file is reported as a fault; a missing file is not`() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("etc/resolv.conf"),
            withIntermediateDirectories: true
        )
        let watch = ResolverWatch(
            ResolverFiles(root: directory.url.path),
            isOwn: { _ in false },
            report: { _ in },
            { _ in }
        )
        _ = watch.sources(nil, [], nil)
        let path = directory.path("etc/resolv.conf")
        #expect(watch.fileFaults == ["\(path) is not a regular file"])
    }
}
