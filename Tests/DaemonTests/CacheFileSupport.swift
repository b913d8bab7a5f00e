// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Glibc
import Net
import Resolver
import TestWorld

@testable import Daemon

@ServiceLoop
final class Run {
    let cache: AnswerCache
    let resolver: Resolver
    var origins: AnswerSourceRegistry { resolver.origins }
    let hours: TestClock
    let diary = LogRecorder()
    let file: CacheFile
    var hot: [HotEntry]?

    init(
        _ path: String,
        _ hours: TestClock,
        isOwn: Bool = false,
        size: Int = 1 << 20,
        routes: RouteTable = RouteTable(),
        network: LearnedNetwork? = nil
    ) {
        cache = AnswerCache(limit: size, origin: hours.now, seed: 5)
        self.hours = hours
        resolver = Resolver(
            routes: routes,
            standard: nil,
            policy: TTLPolicy(),
            network: network,
            cache: cache,
            clocks: hours.clocks
        )
        file = CacheFile(
            path,
            isOwn: isOwn,
            of: cache,
            resolver.origins,
            clocks: hours.clocks,
            logger: diary.logger
        )
        file.validity = { [resolver] in resolver.snapshotValidity(vendors: [:]) }
        file.onLoad = { [weak self] in self?.hot = $0 }
    }

    func start() async {
        file.start()
        await hours.rest()
    }

    func finish() async { await file.finish(by: hours.now + .seconds(2)) }

    func insert(_ name: String, ttl: UInt32 = 600, stale: UInt32 = 0, server: String = "v/1") throws
    {
        cache.insert(
            try .address(name, ttl: ttl, stale: stale, server: origins.number(labelled: server)),
            now: hours.now
        )
    }

    func fill(_ count: Int) async throws {
        for index in 0..<count {
            try insert("n\(index).example.com")
            if index % 20 == 0 { await Task.yield() }
        }
    }

    func entry(_ name: String) throws -> CacheEntry? {
        cache.entries(named: try Name(name), type: nil, now: hours.now).first
    }
}

extension CachedAnswer {
    static func address(
        _ name: String,
        ttl: UInt32 = 600,
        stale: UInt32 = 0,
        server: UInt16 = 0
    ) throws -> CachedAnswer {
        let question = Question(name: try Name(name), type: .a)
        let record = Record(
            name: question.name,
            ttl: ttl,
            data: .a(IPv4Address(value: 0xC000_0201))
        )
        return CachedAnswer(
            question: question,
            variant: .any,
            rcode: .noError,
            sections: try AnswerSections(question: question, answers: [record]),
            lifetime: ttl,
            source: .vendor,
            server: server,
            staleWindow: stale
        )
    }
}

func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
