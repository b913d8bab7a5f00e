// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Block of zeroed memory from mmap.
// SAFETY: the block has `octets` octets and one owner, which accesses only addresses in the block.
@safe
struct Pages: ~Copyable {
    let start: UnsafeMutableRawPointer

    let octets: Int

    static var size: Int { 4096 }

    /// Stops the process on failure.
    init(octets: Int) {
        self.octets = (octets + Self.size - 1) & -Self.size
        guard let block = unsafe Self.map(self.octets) else {
            preconditionFailure("no address space for a cache of \(octets) octets")
        }
        unsafe start = block
    }

    /// Returns true if the system would now map a block of this size.
    static func fits(octets: Int) -> Bool {
        guard let block = unsafe map(octets) else { return false }
        unsafe munmap(block, octets)
        return true
    }

    private static func map(_ octets: Int) -> UnsafeMutableRawPointer? {
        let block = unsafe mmap(
            nil,
            octets,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        return unsafe block == MAP_FAILED ? nil : block
    }

    deinit {
        // SAFETY: the block is not used after this.
        unsafe munmap(start, octets)
    }

    /// Returns the memory between two offsets, multiples of `size`, to the system.
    mutating func giveBack(_ first: Int, _ end: Int) {
        guard first < end else { return }
        precondition(first >= 0 && end <= octets, "pages outside the block")
        // madvise may fail on a system with larger pages than `size`.
        // SAFETY: the range is inside the block, and the owner guarantees that it is unused.
        _ = unsafe madvise(start + first, end - first, MADV_DONTNEED)
    }
}
