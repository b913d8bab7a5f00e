// SPDX-License-Identifier: Apache-2.0
import Fuzzing
import Glibc

private let target: FuzzTarget = {
    let name = unsafe getenv("HTTPDNSD_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        fatalError("HTTPDNSD_FUZZ_TARGET must be one of \(FuzzTarget.all.map(\.name))")
    }
    return target
}()

private func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do {
        try target.check(input)
    } catch {
        fatalError("\(target.name): \(error)")
    }
    return 0
}

/// Entry point; the package manager renames `main`, so libFuzzer's own `main` is not usable.
@_cdecl("fuzz_main")
public func main(
    _ count: CInt,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    var count = count
    var arguments = unsafe arguments
    return unsafe runDriver(&count, &arguments, test)
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
