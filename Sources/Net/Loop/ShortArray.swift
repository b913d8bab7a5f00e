// SPDX-License-Identifier: Apache-2.0

/// Array that stores its first element without an allocation.
@frozen
public struct ShortArray<Element>: RandomAccessCollection {
    @usableFromInline var head: Element?
    @usableFromInline var tail: [Element] = []

    /// Creates an empty array.
    @inlinable
    public init() {}

    /// Creates an array with the elements of a sequence.
    @inlinable
    public init(_ elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    /// Index of the first element: 0.
    @inlinable
    public var startIndex: Int { 0 }

    /// Number of elements.
    @inlinable
    public var endIndex: Int { head == nil ? 0 : 1 + tail.count }

    /// Reads or replaces an element.
    @inlinable
    public subscript(index: Int) -> Element {
        get {
            guard index == 0 else { return tail[index - 1] }
            guard let head else { preconditionFailure("the array is empty") }
            return head
        }
        set { if index == 0 { head = newValue } else { tail[index - 1] = newValue } }
    }

    /// Copies no iterator, unlike the default implementation.
    @inlinable
    public func contains(where isChosen: (Element) -> Bool) -> Bool {
        if let head, isChosen(head) { return true }
        return tail.contains(where: isChosen)
    }

    /// Copies no iterator, unlike the default implementation.
    @inlinable
    public func allSatisfy(_ isChosen: (Element) -> Bool) -> Bool {
        !contains { !isChosen($0) }
    }

    /// Adds an element at the end.
    @inlinable
    public mutating func append(_ element: Element) {
        if head == nil { head = element } else { tail.append(element) }
    }

    /// Removes and returns an element.
    @inlinable
    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        guard index == 0 else { return tail.remove(at: index - 1) }
        let removed = self[0]
        head = tail.isEmpty ? nil : tail.removeFirst()
        return removed
    }

    /// Removes the chosen elements.
    @inlinable
    public mutating func removeAll(where isRemoved: (Element) -> Bool) {
        tail.removeAll(where: isRemoved)
        if let head, isRemoved(head) { remove(at: 0) }
    }
}

extension ShortArray: Sendable where Element: Sendable {}
extension ShortArray: Equatable where Element: Equatable {}
extension ShortArray: Hashable where Element: Hashable {}
