// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Memory straight from the system: zero, on the boundary of a page, and taken page by page as it is
/// first written to.
// SAFETY: the block has `octets` octets and one owner, which is told its address and keeps within.
@safe
struct Pages: ~Copyable {
    let start: UnsafeMutableRawPointer

    /// Octets of the block, a multiple of `size`.
    let octets: Int

    /// Octets of a page, or a multiple of it where the system's are smaller.
    static var size: Int { 4096 }

    /// Reserves at least `octets` octets of addresses.
    ///
    /// Traps if the system has none.
    init(octets: Int) {
        self.octets = (octets + Self.size - 1) & -Self.size
        let block = unsafe mmap(
            nil,
            self.octets,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        guard let block = unsafe block, unsafe block != MAP_FAILED else {
            preconditionFailure("no memory for a cache of \(octets) octets")
        }
        unsafe start = block
    }

    deinit {
        // SAFETY: this is the block's end.
        unsafe munmap(start, octets)
    }

    /// Gives whole pages from octet `first` to before `end` back to the system, both multiples of
    /// `size`: they are zero again and cost nothing until they are written to.
    mutating func giveBack(_ first: Int, _ end: Int) {
        guard first < end else { return }
        precondition(first >= 0 && end <= octets, "pages of the block")
        // A system with larger pages refuses; then it keeps them, and what is in them counts for
        // nothing all the same.
        // SAFETY: inside the block, and the owner says that nothing lies there.
        _ = unsafe madvise(start + first, end - first, MADV_DONTNEED)
    }
}
