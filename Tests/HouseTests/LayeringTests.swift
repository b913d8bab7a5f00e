// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private struct Room: Sendable, CustomTestStringConvertible {
    let name: String
    let floor: Int
    let allowed: Set<String>

    init(_ name: String, floor: Int, imports: String) {
        self.name = name
        self.floor = floor
        allowed = Set(imports.split(separator: " ").map(String.init))
    }

    var testDescription: String { name }
}

/// Modules with their allowed imports; a new import must be added here.
private let house: [Room] = [
    Room("CLinux", floor: 0, imports: ""),
    Room("CBPF", floor: 0, imports: ""),
    Room("CCurl", floor: 0, imports: ""),
    Room("CRedis", floor: 0, imports: ""),
    Room("COpenSSL", floor: 0, imports: ""),
    Room("CSystemd", floor: 0, imports: ""),
    Room("CYAML", floor: 0, imports: ""),
    Room("Locks", floor: 0, imports: "Glibc"),
    Room("Monotonic", floor: 0, imports: ""),
    Room("DNSWire", floor: 1, imports: ""),
    Room("DNSCache", floor: 2, imports: "CLinux DNSWire Glibc Locks Monotonic"),
    Room("Control", floor: 2, imports: "FoundationEssentials"),
    Room("Net", floor: 3, imports: "CLinux CCurl COpenSSL CSystemd Glibc Locks Monotonic"),
    Room("Acceleration", floor: 3, imports: "CBPF DNSCache DNSWire Glibc Locks"),
    Room("HTTPDNS", floor: 4, imports: "COpenSSL DNSWire Glibc Locks Monotonic Net"),
    Room("Upstream", floor: 4, imports: "DNSWire Monotonic Net"),
    Room("Fleet", floor: 4, imports: "CRedis DNSWire Monotonic Net"),
    Room("Resolver", floor: 5, imports: "DNSCache DNSWire Fleet HTTPDNS Locks Net Upstream"),
    Room(
        "Configuration",
        floor: 6,
        imports: "CYAML Control DNSCache DNSWire Glibc HTTPDNS Logging Net"
    ),
    Room("Frontend", floor: 6, imports: "DNSCache DNSWire Locks Logging Net Resolver"),
    Room("DaemonLog", floor: 7, imports: "Configuration Control Glibc Locks Logging Net"),
    Room(
        "Administration",
        floor: 8,
        imports: "CYAML Configuration Control DNSCache DNSWire DaemonLog Fleet Frontend Glibc"
            + " HTTPDNS Logging Net Resolver Upstream"
    ),
    Room(
        "Daemon",
        floor: 9,
        imports: "Acceleration Administration Configuration Control DNSCache DNSWire DaemonLog"
            + " Fleet Frontend Glibc HTTPDNS Locks Logging Net Resolver Upstream"
    ),
    Room(
        "httpdnsd",
        floor: 10,
        imports: "ArgumentParser Configuration Control Daemon DaemonLog Glibc Locks Logging Net"
    ),
    Room("httpdnsctl", floor: 10, imports: "ArgumentParser CLinux Control DNSWire Glibc"),
    // The emulator shares only `Locks` with the daemon, because tests cannot detect errors in
    // shared code.
    Room(
        "httpdns-emulator",
        floor: 10,
        imports: "ArgumentParser COpenSSL Dispatch FlyingSocks Foundation Glibc Locks"
    ),
]

@Suite("A module imports from lower layers only")
struct LayeringTests {
    private static let standardLibrary: Set = ["Swift", "Synchronization", "_Concurrency"]

    private static func imports(of file: SourceFile) throws -> [String] {
        let kinds = "(?:(?:struct|class|enum|protocol|func|var|let|typealias) +)?"
        return try file.text.matches(
            of: #"^\s*(?:@[\w()]+ +)*(?:\w+ +)?import +"# + kinds + #"(\w+)"#
        ).map { $0[1] }
    }

    @Test("the table of modules has exactly the folders of Sources")
    func complete() {
        #expect(Repository.rooms == Set(house.map(\.name)))
    }

    @Test("the table allows imports from lower layers only", arguments: house)
    private func downwards(_ room: Room) {
        for other in house where room.allowed.contains(other.name) {
            #expect(other.floor < room.floor, "\(room.name) may not import \(other.name)")
        }
    }

    @Test("a module imports only modules that the table of modules permits", arguments: house)
    private func imports(_ room: Room) throws {
        for file in Repository.sources where file.room == room.name {
            for module in try Self.imports(of: file) {
                #expect(
                    room.allowed.union(Self.standardLibrary).contains(module),
                    "\(file.path) imports \(module)"
                )
            }
        }
    }

    private static func dependencies(of target: String) throws -> Set<String> {
        let manifest = try Repository.text("Package.swift")
        let start = try #require(
            try manifest.matches(of: "(?:arget|Library)\\(\\s*name: \"\(target)\"").first?.first,
            "the manifest has no target \(target)"
        )
        let rest = try #require(manifest.components(separatedBy: start).last)
        let declaration = try #require(
            rest.components(separatedBy: "arget(").first?.components(separatedBy: "Library(").first
        )
        let list = try declaration.matches(of: #"dependencies: \[([^\]]*)\]"#).first?[1] ?? ""
        let quoted = try list.matches(of: #"(?<!package: )"([^"]+)""#).map { $0[1] }
        let constants = ["logging": "Logging", "argumentParser": "ArgumentParser"]
        return Set(quoted + constants.compactMap { list.contains($0.key) ? $0.value : nil })
    }

    @Test("the dependencies in Package.swift agree with the table of modules", arguments: house)
    private func manifest(_ room: Room) throws {
        let declared = try Self.dependencies(of: room.name)
        #expect(declared.isSubset(of: room.allowed))
        let rooms = room.allowed.intersection(house.map(\.name))
        if room.floor < 10 {
            #expect(declared.isSuperset(of: rooms))
        }
    }

    @Test("the check finds every form of an import")
    func reading() throws {
        let text = """
            import A
            internal import B
            @preconcurrency import C
            package import struct D.E
            // import F
            let text = "import G"
            """
        let file = SourceFile(path: "Sources/Room/File.swift", text: text)
        #expect(try Self.imports(of: file) == ["A", "B", "C", "D"])
    }
}

@Suite("The daemon does not need Foundation")
struct FoundationTests {
    /// Foundation's URL loading calls getaddrinfo: the daemon would query itself and block.
    @Test(
        "the programs are linked with FoundationEssentials only",
        arguments: ["httpdnsd", "httpdnsctl"]
    )
    func linked(_ program: String) throws {
        let run = try Run(URL(filePath: "/usr/bin/ldd"), [Run.product(program).path])
        #expect(run.code == 0, "\(run.errors)")
        #expect(run.output.contains("libc.so.6"))
        for library in ["libFoundation.so", "libFoundationNetworking.so", "lib_FoundationICU.so"] {
            #expect(!run.output.contains(library))
        }
    }
}
