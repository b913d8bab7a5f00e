// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// Connection to the D-Bus system bus, which reads and watches properties of services.
///
/// Waits for a bus that does not run yet, and connects again after a restart of the bus. A D-Bus
/// call never starts a service.
// SAFETY: the only unsafe stored property is the connection, explained at `bus`.
@safe
@ServiceLoop
package final class SystemBus {
    package struct Object: Sendable, Hashable {
        package let service: String
        package let path: String
        package let interface: String

        package init(_ service: String, _ path: String, _ interface: String) {
            self.service = service
            self.path = path
            self.interface = interface
        }
    }

    package enum Properties {
        case value(BusValue)

        /// The service does not run, or has no such object.
        case absent

        /// The service did not reply in time, or the reply is too large.
        case noReply

        var value: BusValue? { if case .value(let value) = self { value } else { nil } }
    }

    package typealias Reply = @ServiceLoop (Properties) -> Void

    // SAFETY: made in `open`, released once in `close`, used on the loop only.
    private var bus: OpaquePointer?
    private let address: String
    private let services: [Object]

    private let handler: @ServiceLoop (_ service: String) -> Void

    private var timer: LoopTimer?

    /// In microseconds.
    private static let patience: UInt64 = 5_000_000

    private static let pause = Duration.seconds(1)

    /// Creates a connection; ``open()`` connects.
    ///
    /// - Parameters:
    ///   - address: nil for the system bus.
    ///   - handler: called with the name of a service after a change of its properties or owner.
    ///     When the bus is connected or disconnected, called once for each service.
    package init(
        _ address: String? = nil,
        watching services: [Object],
        _ handler: @escaping @ServiceLoop (_ service: String) -> Void
    ) {
        unsafe bus = nil
        self.address = address ?? Self.systemAddress
        self.services = services
        self.handler = handler
    }

    isolated deinit { close() }

    private static var systemAddress: String {
        // SAFETY: the text is copied; the daemon does not change its environment.
        unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) }
            ?? "unix:path=/run/dbus/system_bus_socket"
    }

    // MARK: - Connection

    /// Loads libsystemd on a thread; returns the reason of a failure, or nil.
    package static func load() async -> String? {
        guard !systemd_library_is_loaded() else { return nil }
        // SAFETY: the text is valid until the next call on this thread.
        let load: @Sendable () -> String? = {
            unsafe systemd_library_load().map { unsafe String(cString: $0) }
        }
        do throws(SocketError) {
            return try await WorkerThread.run(named: "bus-load", load)
        } catch {
            return "\(error)"
        }
    }

    /// True between `open` and `close`, even if the bus does not run.
    package var isOpen: Bool { unsafe bus != nil }

    /// False if the socket of the bus does not exist.
    package var mayRun: Bool {
        guard let path = socketPath else { return true }
        // SAFETY: the string lives during the call.
        return unsafe access(path, F_OK) == 0
    }

    var socketPath: String? {
        let prefix = "unix:path="
        guard address.hasPrefix(prefix) else { return nil }
        return String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" })
    }

    /// Begins to connect; throws if the address is invalid or the bus refuses the connection.
    package func open() throws(SocketError) {
        guard unsafe bus == nil else { return }
        var made: OpaquePointer?
        // SAFETY: the out-parameter has the right type; the strings live during the calls.
        try Self.check(unsafe sd_bus_new(&made), "sd_bus_new")
        unsafe bus = made
        do throws(SocketError) {
            try Self.check(unsafe sd_bus_set_address(made, address), "sd_bus_set_address")
            try Self.check(unsafe sd_bus_set_bus_client(made, 1), "sd_bus_set_bus_client")
            try Self.check(unsafe sd_bus_set_watch_bind(made, 1), "sd_bus_set_watch_bind")
            try Self.check(
                unsafe sd_bus_set_connected_signal(made, 1),
                "sd_bus_set_connected_signal"
            )
            try watchConnection()
            try Self.check(unsafe sd_bus_start(made), "sd_bus_start")
            for service in services { try watch(service) }
            let event = unsafe try LoopExecutor.shared.event()
            try Self.check(unsafe sd_bus_attach_event(made, event, 0), "sd_bus_attach_event")
            LoopExecutor.shared.noteEvent()
        } catch {
            close()
            throw error
        }
    }

    package func close() {
        timer?.cancel()
        timer = nil
        // SAFETY: the connection is released once; its slots release their handlers.
        unsafe sd_bus_close_unref(bus)
        unsafe bus = nil
    }

    private static func check(_ status: Int32, _ call: String) throws(SocketError) {
        guard status >= 0 else { throw .system(call: call, code: -status) }
    }

    private func watchConnection() throws(SocketError) {
        let local =
            "type='signal',path='/org/freedesktop/DBus/Local',"
            + "interface='org.freedesktop.DBus.Local',member="
        try match(local + "'Connected'") { [weak self] _ in self?.connected() }
        try match(local + "'Disconnected'") { [weak self] _ in self?.disconnected() }
    }

    private func watch(_ object: Object) throws(SocketError) {
        let changed: @ServiceLoop (BusMessage) -> Void = { [weak self] _ in
            self?.handler(object.service)
        }
        try match(
            "type='signal',sender='\(object.service)',path='\(object.path)',"
                + "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
            changed
        )
        try match(
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',"
                + "interface='org.freedesktop.DBus',arg0='\(object.service)'",
            changed
        )
    }

    private func connected() {
        for service in services { handler(service.service) }
    }

    /// The old connection cannot be closed here, because sd-bus still uses it in this callback.
    private func disconnected() {
        for service in services { handler(service.service) }
        timer = LoopTimer(at: Clock.now + Self.pause) { [weak self] in self?.reopen() }
    }

    private func reopen() {
        close()
        do throws(SocketError) {
            try open()
        } catch {
            timer = LoopTimer(at: Clock.now + Self.pause) { [weak self] in self?.reopen() }
        }
    }

    // MARK: - Messages

    private final class Box {
        // SAFETY: isolated to the service loop; called by `receive` only, which checks the thread.
        nonisolated(unsafe) let body: (BusMessage) -> Void

        init(_ body: @escaping @ServiceLoop (BusMessage) -> Void) {
            // SAFETY: `receive` calls the handler on the service loop only.
            unsafe self.body = unsafeBitCast(body, to: ((BusMessage) -> Void).self)
        }
    }

    private func match(
        _ rule: String,
        _ body: @escaping @ServiceLoop (BusMessage) -> Void
    ) throws(SocketError) {
        var slot: OpaquePointer?
        // SAFETY: `own` gives the slot the ownership of the box, or releases it.
        let box = unsafe Unmanaged.passRetained(Box(body))
        let status = unsafe sd_bus_add_match_async(
            bus,
            &slot,
            rule,
            receive,
            nil,
            box.toOpaque()
        )
        try unsafe own(box, slot, status, "sd_bus_add_match_async")
    }

    package func properties(_ object: Object, _ reply: @escaping Reply) {
        do throws(SocketError) {
            try call(object, reply)
        } catch {
            reply(.absent)
        }
    }

    private func call(_ object: Object, _ reply: @escaping Reply) throws(SocketError) {
        var message: OpaquePointer?
        // SAFETY: the out-parameters have the right types, the strings live during the calls, and
        // the message is released once.
        try Self.check(
            unsafe sd_bus_message_new_method_call(
                bus,
                &message,
                object.service,
                object.path,
                "org.freedesktop.DBus.Properties",
                "GetAll"
            ),
            "sd_bus_message_new_method_call"
        )
        defer { _ = unsafe sd_bus_message_unref(message) }
        try Self.check(unsafe sd_bus_message_set_auto_start(message, 0), "set_auto_start")
        let appended = unsafe object.interface.withCString {
            unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0)
        }
        try Self.check(appended, "sd_bus_message_append_basic")
        var slot: OpaquePointer?
        let box = unsafe Unmanaged.passRetained(
            Box { reply($0.properties) }
        )
        let status = unsafe sd_bus_call_async(
            bus,
            &slot,
            message,
            receive,
            box.toOpaque(),
            Self.patience
        )
        try unsafe own(box, slot, status, "sd_bus_call_async")
    }

    /// Makes `slot` the owner of `box`, and the connection the owner of `slot`.
    private func own(
        _ box: Unmanaged<Box>,
        _ slot: OpaquePointer?,
        _ status: Int32,
        _ call: String
    ) throws(SocketError) {
        LoopExecutor.shared.noteEvent()
        guard status >= 0 else {
            // SAFETY: there is no slot that owns the box.
            unsafe box.release()
            throw .system(call: call, code: -status)
        }
        // SAFETY: the slot calls this function once, when the slot is released.
        unsafe sd_bus_slot_set_destroy_callback(slot) { data in
            guard let data = unsafe data else { return }
            unsafe Unmanaged<Box>.fromOpaque(data).release()
        }
        unsafe sd_bus_slot_set_floating(slot, 1)
        unsafe sd_bus_slot_unref(slot)
    }

    private let receive: sd_bus_message_handler_t = { message, data, _ in
        guard let data = unsafe data else { return 0 }
        LoopExecutor.shared.checkIsolated()
        // SAFETY: the slot owns the box; the line above has checked the thread.
        let box = unsafe Unmanaged<Box>.fromOpaque(data).takeUnretainedValue()
        unsafe box.body(BusMessage(message))
        return 0
    }
}

/// Valid until the callback that received the message returns.
// SAFETY: no callback stores the message.
@safe
private struct BusMessage {
    private let raw: OpaquePointer?

    init(_ raw: OpaquePointer?) { unsafe self.raw = raw }

    var properties: SystemBus.Properties {
        guard let raw = unsafe raw else { return .absent }
        let noReply = "org.freedesktop.DBus.Error.NoReply"
        if unsafe sd_bus_message_is_method_error(raw, noReply) > 0 { return .noReply }
        if unsafe sd_bus_message_is_method_error(raw, nil) > 0 { return .absent }
        return unsafe BusReader.value(of: raw).map { .value($0) } ?? .noReply
    }
}

// SAFETY: the message lives during the call that reads it.
private struct BusReader {
    private static let deepest = 16

    /// Remaining number of values to read; limited, because a message can have 128 MiB.
    private var left = 100_000

    // SAFETY: the caller passes a message that lives during the call.
    static func value(of message: OpaquePointer) -> BusValue? {
        guard unsafe sd_bus_message_is_method_error(message, nil) == 0 else { return nil }
        var reader = BusReader()
        return unsafe reader.next(message, 0)
    }

    /// Returns nil at the end of a container, after an error, or beyond a limit.
    // SAFETY: the out-parameters have the types that D-Bus prescribes for each kind of value; texts
    // belong to the message and are copied.
    private mutating func next(_ message: OpaquePointer, _ depth: Int) -> BusValue? {
        var kind: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard left > 0, depth < Self.deepest,
            unsafe sd_bus_message_peek_type(message, &kind, &contents) > 0
        else { return nil }
        left -= 1
        func read<Number: FixedWidthInteger>(_ zero: Number) -> BusValue? {
            var number = zero
            guard unsafe sd_bus_message_read_basic(message, kind, &number) > 0 else { return nil }
            return .number(Int64(clamping: number))
        }
        switch UInt8(bitPattern: kind) {
        case UInt8(ascii: "b"):
            var flag: Int32 = 0
            guard unsafe sd_bus_message_read_basic(message, kind, &flag) > 0 else { return nil }
            return .boolean(flag != 0)
        case UInt8(ascii: "y"): return read(UInt8(0))
        case UInt8(ascii: "n"): return read(Int16(0))
        case UInt8(ascii: "q"): return read(UInt16(0))
        case UInt8(ascii: "i"), UInt8(ascii: "h"): return read(Int32(0))
        case UInt8(ascii: "u"): return read(UInt32(0))
        case UInt8(ascii: "x"): return read(Int64(0))
        // A floating-point number is read as an integer with the same bits; no caller uses it.
        case UInt8(ascii: "t"), UInt8(ascii: "d"): return read(UInt64(0))
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
            var text: UnsafePointer<CChar>?
            guard unsafe sd_bus_message_read_basic(message, kind, &text) > 0,
                let text = unsafe text
            else { return nil }
            return unsafe .text(String(cString: text))
        default:
            let isVariant = UInt8(bitPattern: kind) == UInt8(ascii: "v")
            let inner = unsafe contents.map { unsafe String(cString: $0) } ?? ""
            guard unsafe sd_bus_message_enter_container(message, kind, contents) > 0 else {
                return nil
            }
            var items: [BusValue] = []
            while let item = unsafe next(message, depth + 1) { items.append(item) }
            guard unsafe sd_bus_message_exit_container(message) > 0 else { return nil }
            return isVariant ? items.first : Self.container(items, inner)
        }
    }

    private static func container(_ items: [BusValue], _ contents: String) -> BusValue {
        if contents == "y" { return .octets(items.map { UInt8(clamping: $0.number ?? 0) }) }
        guard contents.hasPrefix("{s") || contents.hasPrefix("{o") else { return .list(items) }
        let entries = items.compactMap { entry -> (String, BusValue)? in
            guard let key = entry.items.first?.text, entry.items.count == 2 else { return nil }
            return (key, entry.items[1])
        }
        return .table(Dictionary(entries) { $1 })
    }
}
