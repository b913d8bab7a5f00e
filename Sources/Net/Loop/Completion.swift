// SPDX-License-Identifier: Apache-2.0

/// Completion handler that is called exactly once.
///
/// A second call does not compile. A release without a call traps in debug builds.
///
/// Public, because Swift 6.3 inlines no `package` function into another module.
@frozen
public struct Completion<Value>: ~Copyable {
    /// Function that gets the result.
    public typealias Handler = @ServiceLoop (Value) -> Void

    @usableFromInline
    let handler: Handler

    @usableFromInline
    var isCalled = false

    /// Creates a completion handler.
    @inlinable
    public init(_ handler: @escaping Handler) { self.handler = handler }

    /// Calls the handler.
    @inlinable
    @ServiceLoop
    public consuming func callAsFunction(_ value: Value) {
        isCalled = true
        handler(value)
    }

    /// Returns a handler for an earlier step; `body` gets that step's result and this handler.
    @inlinable
    public consuming func after<Earlier>(
        _ body: @escaping @ServiceLoop (Earlier, consuming Completion) -> Void
    ) -> Completion<Earlier> {
        isCalled = true
        return Completion<Earlier> { [handler] in body($0, Completion(handler)) }
    }

    @inlinable
    deinit { assert(isCalled, "a completion handler was released without a call") }
}
