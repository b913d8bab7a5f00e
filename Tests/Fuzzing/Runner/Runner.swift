// SPDX-License-Identifier: Apache-2.0
import Fuzzing
import Glibc

/// The target that `scripts/fuzz` names in `HTTPDNSD_FUZZ_TARGET`.
private let target: FuzzTarget = {
    let name = unsafe getenv("HTTPDNSD_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        fatalError("HTTPDNSD_FUZZ_TARGET is one of \(FuzzTarget.all.map(\.name))")
    }
    return target
}()

/// Gives the target one input of libFuzzer's; what is found ends the process, as it is to be.
private func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do {
        try target.check(input)
    } catch {
        fatalError("\(target.name): \(error)")
    }
    return 0
}

/// The package manager calls a program's `main` after the program, and so leaves out libFuzzer's.
@_cdecl("fuzz_main")
public func main(
    _ count: CInt,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    var count = count
    var arguments = unsafe arguments
    return unsafe runDriver(&count, &arguments, test)
}

/// libFuzzer's own: reads its options and runs `test` as they say.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
