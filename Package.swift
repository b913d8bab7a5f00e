// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import Glibc
import PackageDescription

/// Compiler settings of all Swift targets.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Products also have strict memory safety; tests do not, as `#expect` expands to unmarked code.
///
/// Without the flag, a program looks up generic types by name at run time, and searches all
/// conformances for each key type of a dictionary: 9 of 20 million instructions of a start.
let product =
    house + [
        .strictMemorySafety(),
        .unsafeFlags(
            ["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"],
            .when(configuration: .release)
        ),
    ]

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// True if programs may have packed relocations, which need glibc 2.36 or later.
let packsRelocations: Bool = {
    var text = [CChar](repeating: 0, count: 32)
    // The text has the form "glibc 2.36".
    confstr(Int32(_CS_GNU_LIBC_VERSION), &text, text.count - 1)
    let octets = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let numbers = String(decoding: octets, as: UTF8.self).split { " .".contains($0) }.compactMap {
        Int($0)
    }
    return !numbers.lexicographicallyPrecedes([2, 36])
}()

/// Linker settings of the daemon.
///
/// Symbols are bound at start, so that their table is read-only afterwards. Packed relocations take
/// 10 KiB instead of 1 MiB, ten thousand unused exported symbols are omitted, and libstdc++ is
/// linked statically if the Swift runtime is.
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

/// Declares the test suite of a module, in `Tests`.
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

/// Benchmark program of `scripts/bench micro`, built only if `HTTPDNSD_BENCH` is set.
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

/// Fuzzer of `scripts/fuzz`, built only if `HTTPDNSD_FUZZ` is set; libFuzzer provides `main`.
let fuzz: [Target] =
    Context.environment["HTTPDNSD_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz",
            dependencies: ["Fuzzing"],
            path: "Tests/Fuzzing/Runner",
            // A single file would otherwise be compiled as a script with its own `main`.
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
        // Layer 0: C modules, locks, time.
        .target(name: "CLinux"),
        .target(name: "Locks", swiftSettings: product),
        .target(name: "Monotonic", swiftSettings: product),
        // The sources in `Program` are for the kernel; `scripts/bpf` compiles them to `answer.inc`.
        .target(name: "CBPF", exclude: ["Program"]),
        // Loads libcurl on demand, so it does not link with it.
        .target(name: "CCurl"),
        // Loads libhiredis on demand.
        .target(name: "CRedis"),
        // Loads OpenSSL on demand.
        .target(name: "COpenSSL"),
        // Loads libsystemd on demand.
        .target(name: "CSystemd"),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),

        // Layer 1: names and messages.
        .target(
            name: "DNSWire",
            swiftSettings: product + [.enableExperimentalFeature("Lifetimes")]
        ),

        // Layer 2: answer cache; control protocol.
        .target(
            name: "DNSCache",
            dependencies: ["CLinux", "DNSWire", "Locks", "Monotonic"],
            swiftSettings: product
        ),
        .target(name: "Control", swiftSettings: product),

        // Layer 3: service loop, sockets, HTTP.
        .target(
            name: "Net",
            dependencies: ["CLinux", "CCurl", "COpenSSL", "CSystemd", "Locks", "Monotonic"],
            swiftSettings: product
        ),

        // Answers in the kernel.
        .target(
            name: "Acceleration",
            dependencies: ["CBPF", "DNSCache", "DNSWire", "Locks"],
            swiftSettings: product
        ),

        // Layer 4: vendors; upstream resolvers.
        .target(
            name: "HTTPDNS",
            dependencies: ["COpenSSL", "DNSWire", "Locks", "Monotonic", "Net"],
            swiftSettings: product
        ),
        .target(
            name: "Upstream",
            dependencies: ["DNSWire", "Monotonic", "Net"],
            swiftSettings: product
        ),

        .target(
            name: "Fleet",
            dependencies: ["CRedis", "DNSWire", "Monotonic", "Net"],
            swiftSettings: product
        ),

        // Layer 5: resolution.
        .target(
            name: "Resolver",
            dependencies: ["DNSCache", "DNSWire", "Fleet", "HTTPDNS", "Locks", "Net", "Upstream"],
            swiftSettings: product
        ),

        // Layer 6: settings; listeners.
        .target(
            name: "Configuration",
            dependencies: [
                "CYAML", "Control", "DNSCache", "DNSWire", "HTTPDNS", "Net", logging,
            ],
            swiftSettings: product
        ),
        .target(
            name: "Frontend",
            dependencies: ["DNSCache", "DNSWire", "Locks", "Net", "Resolver", logging],
            swiftSettings: product
        ),

        // Layer 7: log.
        .target(
            name: "DaemonLog",
            dependencies: ["Configuration", "Control", "Locks", "Net", logging],
            swiftSettings: product
        ),

        // Layer 8: control verbs and metrics.
        .target(
            name: "Administration",
            dependencies: [
                "CYAML", "Configuration", "Control", "DNSCache", "DNSWire", "DaemonLog", "Fleet",
                "Frontend", "HTTPDNS", "Net", "Resolver", "Upstream", logging,
            ],
            swiftSettings: product
        ),

        // Layer 9: composition, reload, hosts files, cache file.
        .target(
            name: "Daemon",
            dependencies: [
                "Acceleration", "Administration", "Configuration", "Control", "DNSCache", "DNSWire",
                "DaemonLog", "Fleet", "Frontend", "HTTPDNS", "Locks", "Net", "Resolver", "Upstream",
                logging,
            ],
            swiftSettings: product
        ),

        // Layer 10: programs.
        .executableTarget(
            name: "httpdnsd",
            dependencies: ["Configuration", "Daemon", "DaemonLog", "Locks", argumentParser],
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

        // Scripted network and virtual clock for test suites.
        .target(
            name: "TestWorld",
            dependencies: [
                "COpenSSL", "Control", "DNSCache", "DNSWire", "Fleet", "HTTPDNS", "Locks",
                "Monotonic", "Net", logging,
            ],
            path: "Tests/TestWorld",
            swiftSettings: house,
            // Test servers need further functions.
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        // Fuzz targets, used by libFuzzer and by a test suite.
        .target(
            name: "Fuzzing",
            dependencies: [
                "Configuration", "Control", "DNSCache", "DNSWire", "Fleet", "HTTPDNS", "Net",
                "Resolver", "TestWorld", "Upstream",
            ],
            path: "Tests/Fuzzing/Targets",
            swiftSettings: house
        ),
        suite("DNSWire", exclude: ["Differential"]),
        suite("DNSCache", ["DNSCache", "DNSWire", "TestWorld"]),
        suite("Acceleration", ["Acceleration", "DNSCache", "DNSWire", "Frontend"]),
        suite("Control", ["Control", "DNSWire", "TestWorld"], exclude: ["messages.jsonl"]),
        suite("Net", ["CCurl", "COpenSSL", "Locks", "Net", "TestWorld"]),
        suite("HTTPDNS", ["COpenSSL", "DNSWire", "HTTPDNS", "Net", "TestWorld"]),
        suite("Upstream", ["DNSWire", "Net", "TestWorld", "Upstream"]),
        suite("Fleet", ["DNSWire", "Fleet", "Net", "TestWorld"]),
        suite(
            "Resolver",
            [
                "DNSCache", "DNSWire", "Fleet", "HTTPDNS", "Net", "Resolver", "TestWorld",
                "Upstream",
            ]
        ),
        suite(
            "Configuration",
            ["Configuration", "Control", "DNSWire", "HTTPDNS", "Net", "TestWorld"]
        ),
        suite(
            "Frontend",
            [
                "Control", "DNSCache", "DNSWire", "Frontend", "Net", "Resolver", "TestWorld",
                "Upstream",
            ]
        ),
        suite("DaemonLog", ["Configuration", "DaemonLog", "Locks", logging]),
        suite(
            "Administration",
            [
                "Administration", "Configuration", "Control", "DNSCache", "DNSWire", "Frontend",
                "HTTPDNS", "Net", "Resolver", "TestWorld", logging,
            ]
        ),
        suite(
            "Daemon",
            [
                "Acceleration", "Administration", "Configuration", "Control", "DNSCache", "DNSWire",
                "Daemon", "Frontend", "Locks", "Net", "Resolver", "TestWorld", logging,
            ]
        ),
        suite("httpdnsctl", ["Control", "DNSWire", "TestWorld", "httpdnsctl"]),
        suite(
            "Scenario",
            [
                "Administration", "Configuration", "Control", "DNSCache", "DNSWire", "Daemon",
                "DaemonLog", "Frontend", "HTTPDNS", "Net", "Resolver", "TestWorld", "Upstream",
                logging,
            ],
            exclude: ["Credentials", "README.md", "Scenarios"]
        ),
        suite("Emulator", ["httpdns-emulator"]),
        suite("Fuzzing", ["DNSWire", "Fuzzing", "HTTPDNS", "Net"]),
        suite("House", ["DNSWire"]),
        suite(
            "Integration",
            ["Acceleration", "DNSWire", "Monotonic", "httpdnsd", "httpdnsctl", "httpdns-emulator"]
        ),
    ] + micro + fuzz
)
