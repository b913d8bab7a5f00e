// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import Glibc
import PackageDescription

/// What every Swift target of the house is compiled with.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Products also prove their memory safety; tests cannot, as `#expect` expands to unmarked code.
let product = house + [.strictMemorySafety()]

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// Whether programs may have their relocations packed: the C library must know how to read them
/// (glibc 2.36).
let packsRelocations: Bool = {
    var text = [CChar](repeating: 0, count: 32)
    // As in "glibc 2.36".
    confstr(Int32(_CS_GNU_LIBC_VERSION), &text, text.count - 1)
    let octets = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let numbers = String(decoding: octets, as: UTF8.self).split { " .".contains($0) }.compactMap {
        Int($0)
    }
    return !numbers.lexicographicallyPrecedes([2, 36])
}()

/// How the daemon is linked.
///
/// Symbols are bound at the start, so their table can be read-only from then on.  A megabyte of
/// relocations becomes 10 KiB, ten thousand symbols that nobody asks for are left out, and what Swift's
/// runtime needs of libstdc++ is inside, if the runtime is.
let lean: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"]),
    .unsafeFlags(
        [
            "-use-ld=lld", "-Xlinker", "--no-export-dynamic",
            "-L\(Context.packageDirectory)/scripts/link",
        ]
            + (packsRelocations ? ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"] : []),
        .when(configuration: .release)
    ),
]

/// A test suite of one room, beside the room in `Tests`.
func suite(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    exclude: [String] = []
) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: dependencies.isEmpty ? [.byName(name: name)] : dependencies,
        exclude: exclude,
        swiftSettings: house
    )
}

/// What `scripts/bench micro` measures with; in nobody else's way.
let micro: [Target] =
    Context.environment["HTTPDNSD_BENCH"] == nil
    ? []
    : [
        .executableTarget(
            name: "micro",
            dependencies: ["DNSCache", "DNSWire"],
            path: "Tests/Benchmarks/Micro",
            swiftSettings: house
        )
    ]

/// What `scripts/fuzz` runs; libFuzzer brings its `main`.
let fuzz: [Target] =
    Context.environment["HTTPDNSD_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz",
            dependencies: ["Fuzzing"],
            path: "Tests/Fuzzing/Runner",
            // One file alone would be a script, with a `main` of its own.
            swiftSettings: house + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]
        )
    ]

let package = Package(
    name: "httpdnsd",
    products: [
        .executable(name: "httpdnsd", targets: ["httpdnsd"]),
        .executable(name: "httpdnsctl", targets: ["httpdnsctl"]),
        .executable(name: "httpdns-emulator", targets: ["httpdns-emulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        // Floor 0: doors to C.
        .target(name: "CLinux"),
        .target(name: "Locks", swiftSettings: product),
        // The program in its folder is for the kernel; `scripts/bpf` makes what is built in.
        .target(name: "CBPF", exclude: ["Program"]),
        // Loads libcurl when it is needed, so does not link with it.
        .target(name: "CCurl"),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CSystemd",
            pkgConfig: "libsystemd",
            providers: [.apt(["libsystemd-dev"])]
        ),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),

        // Floor 1: names and messages.
        .target(
            name: "DNSWire",
            swiftSettings: product + [.enableExperimentalFeature("Lifetimes")]
        ),

        // Floor 2: the answer cache; the control protocol.
        .target(
            name: "DNSCache",
            dependencies: ["CLinux", "DNSWire", "Locks"],
            swiftSettings: product
        ),
        .target(name: "Control", swiftSettings: product),

        // Floor 3: the service loop, sockets, HTTP.
        .target(
            name: "Net",
            dependencies: ["CLinux", "CCurl", "COpenSSL", "CSystemd", "Locks"],
            swiftSettings: product
        ),

        // Answers inside the kernel.
        .target(
            name: "Acceleration",
            dependencies: ["CBPF", "DNSCache", "DNSWire", "Locks"],
            swiftSettings: product
        ),

        // Floor 4: vendors; upstream resolvers.
        .target(
            name: "HTTPDNS",
            dependencies: ["COpenSSL", "DNSWire", "Net"],
            swiftSettings: product
        ),
        .target(name: "Upstream", dependencies: ["DNSWire", "Net"], swiftSettings: product),

        // Floor 5: what is asked of whom, in which order.
        .target(
            name: "Resolver",
            dependencies: ["DNSCache", "DNSWire", "HTTPDNS", "Locks", "Net", "Upstream"],
            swiftSettings: product
        ),

        // Floor 6: listeners, settings, verbs, counters, composition.
        .target(
            name: "Server",
            dependencies: [
                "Acceleration", "CYAML", "Control", "DNSCache", "DNSWire", "HTTPDNS", "Locks",
                "Net", "Resolver", "Upstream", logging,
            ],
            swiftSettings: product
        ),

        // Floor 7: programs.
        .executableTarget(
            name: "httpdnsd",
            dependencies: ["Locks", "Server", argumentParser],
            swiftSettings: product,
            linkerSettings: lean
        ),
        .executableTarget(
            name: "httpdnsctl",
            dependencies: ["CLinux", "Control", "DNSWire", argumentParser],
            swiftSettings: product
        ),
        .executableTarget(
            name: "httpdns-emulator",
            dependencies: [
                "COpenSSL", "Locks", argumentParser,
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            swiftSettings: product
        ),

        // A network and a clock that do as they are told, for suites that are about time.
        .target(
            name: "TestWorld",
            dependencies: ["COpenSSL", "HTTPDNS", "Net"],
            path: "Tests/TestWorld",
            swiftSettings: house
        ),
        // What is held against hostile input, by libFuzzer and by the suite beside it.
        .target(
            name: "Fuzzing",
            dependencies: [
                "Control", "DNSCache", "DNSWire", "HTTPDNS", "Net", "Server", "Upstream",
            ],
            path: "Tests/Fuzzing/Targets",
            swiftSettings: house
        ),
        suite("DNSWire", exclude: ["Differential"]),
        suite("DNSCache", ["DNSCache", "DNSWire"]),
        suite("Acceleration", ["Acceleration", "DNSCache", "DNSWire", "Server"]),
        suite("Control", ["Control", "DNSWire", "Net", "Server", "httpdnsctl", logging]),
        suite("Net", ["Locks", "Net", "TestWorld"]),
        suite("HTTPDNS", ["COpenSSL", "DNSWire", "HTTPDNS", "Net", "TestWorld"]),
        suite("Upstream", ["DNSWire", "Net", "TestWorld", "Upstream"]),
        suite(
            "Resolver",
            ["DNSCache", "DNSWire", "HTTPDNS", "Net", "Resolver", "TestWorld", "Upstream"]
        ),
        suite(
            "Server",
            [
                "DNSCache", "DNSWire", "HTTPDNS", "Locks", "Net", "Resolver", "Server",
                "TestWorld", "Upstream", logging,
            ]
        ),
        suite(
            "Scenario",
            [
                "Control", "DNSCache", "DNSWire", "HTTPDNS", "Net", "Resolver", "Server",
                "TestWorld", "Upstream", logging,
            ],
            exclude: ["Credentials", "README.md", "Scenarios"]
        ),
        suite("Emulator", ["httpdns-emulator"]),
        suite("Fuzzing", ["DNSWire", "Fuzzing", "HTTPDNS", "Net"]),
        suite("House", ["DNSWire"]),
        suite(
            "Integration",
            ["Acceleration", "DNSWire", "httpdnsd", "httpdnsctl", "httpdns-emulator"]
        ),
    ] + micro + fuzz
)
