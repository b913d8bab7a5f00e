// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("A Unix listener", .timeLimit(.minutes(15)))
struct UnixListenerTests {
    let directory: TemporaryDirectory
    var path: String { directory.path("control.sock") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @ServiceLoop
    @Test
    func `the credentials of a peer are those of the peer's process`() async throws {
        let listener = try StreamListener(unixPath: path, mode: 0o600)
        let client = try await StreamConnection.connect(unixPath: path, deadline: patience)
        let server = try await listener.accept()
        let who = try server.peerCredentials
        #expect(who == .init(pid: getpid(), uid: getuid(), gid: getgid()))
        #expect(server.peerAddress == nil)
        try await client.write([9], deadline: patience)
        #expect(try await server.read(upTo: 9, deadline: patience) == [9])
    }

    @ServiceLoop
    @Test
    func `the socket file has the given mode and is removed with the listener`() throws {
        let listener = try StreamListener(unixPath: path, mode: 0o620, group: getgid())
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o620)
        listener.close()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @ServiceLoop
    @Test
    func `the socket file of an ended process is replaced`() throws {
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let address = try UnixAddress(path)
        #expect(address.bind(socket) == 0)
        close(socket)
        _ = try StreamListener(unixPath: path, mode: 0o600)
    }

    @ServiceLoop
    @Test
    func `a path with a listening process is left unchanged`() async throws {
        let first = try StreamListener(unixPath: path, mode: 0o600)
        let path = path
        #expect(throws: SocketError.pathInUse(path)) {
            try StreamListener(unixPath: path, mode: 0o600)
        }
        _ = try await StreamConnection.connect(unixPath: path, deadline: patience)
        _ = try await first.accept()
    }

    @ServiceLoop
    @Test
    func `a file that is not a socket is left unchanged`() throws {
        try directory.write("precious", to: "control.sock")
        let path = path
        #expect(throws: SocketError.notSocket(path)) {
            try StreamListener(unixPath: path, mode: 0o600)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @ServiceLoop
    @Test
    func `a path that is too long is rejected, not truncated`() {
        let long = "/tmp/" + String(repeating: "x", count: 103)
        #expect(throws: SocketError.pathTooLong(long)) {
            try StreamListener(unixPath: long, mode: 0o600)
        }
    }

    @ServiceLoop
    @Test
    func `a symbolic link or a file in place of the socket keeps its owner and mode`() throws {
        try directory.write("precious", to: "target")
        let target = directory.path("target")
        let attributes = [FileAttributeKey.posixPermissions: 0o600]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: target)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        for replaced in [path, target] {
            #expect(throws: SocketError.system(call: "chmod", code: EPERM)) {
                try StreamListener.setAccess(of: replaced, mode: 0o666, group: getgid())
            }
        }
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @ServiceLoop
    @Test
    func `a listener without its socket file is not in place`() throws {
        let listener = try StreamListener(unixPath: path, mode: 0o600)
        #expect(listener.isInPlace)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        #expect(!listener.isInPlace)
        let other = try StreamListener(unixPath: path, mode: 0o600)
        #expect(!listener.isInPlace && other.isInPlace)
    }

    @ServiceLoop
    @Test
    func `the check of a path finds the errors of a listener, and creates no file`() throws {
        let path = path
        try StreamListener.check(unixPath: path)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(throws: SocketError.system(call: "bind", code: ENOENT)) {
            try StreamListener.check(unixPath: path + ".d/m.sock")
        }
        let listener = try StreamListener(unixPath: path, mode: 0o600)
        #expect(throws: SocketError.pathInUse(path)) { try StreamListener.check(unixPath: path) }
        #expect(FileManager.default.fileExists(atPath: path))
        listener.close()
        try directory.write("precious", to: "control.sock")
        #expect(throws: SocketError.notSocket(path)) { try StreamListener.check(unixPath: path) }
        #expect(throws: SocketError.system(call: "bind", code: ENOTDIR)) {
            try StreamListener.check(unixPath: path + "/m.sock")
        }
        let folder = directory.path("")
        let name = String(folder.drop { $0 != "/" }.reversed().drop { $0 == "/" }.reversed())
        #expect(throws: SocketError.notSocket(name)) { try StreamListener.check(unixPath: name) }
    }
}
