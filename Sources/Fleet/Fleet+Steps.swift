// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Steps

extension Fleet {
    func read(_ lookUp: FleetLookUp) {
        statistics.reads += 1
        link.send(
            reads(lookUp),
            Completion { [weak self] replies in
                guard let self, case .reading = lookUp.machine.phase else { return }
                guard let list = self.replies(replies) else { return take(.engineFailed, lookUp) }
                lookUp.value = value(in: list[...], of: lookUp)
                let hasValue = lookUp.value != nil
                if hasValue { statistics.found += 1 } else { statistics.notFound += 1 }
                take(.read(hasValue: hasValue), lookUp)
            }
        )
    }

    func claim(_ lookUp: FleetLookUp) {
        let milliseconds = FleetLimits.lease / .milliseconds(1)
        let claim = RedisCodec.command(
            "SET",
            lookUp.key.lease,
            lookUp.token,
            "NX",
            "PX",
            "\(Int(milliseconds))"
        )
        // Another host may have stored its answer since the first read.
        link.send(
            [claim] + reads(lookUp),
            Completion { [weak self] replies in
                guard let self else { return }
                guard let list = self.replies(replies) else {
                    if case .claiming = lookUp.machine.phase { take(.engineFailed, lookUp) }
                    return
                }
                var hasValue = false
                if case .claiming = lookUp.machine.phase {
                    lookUp.value = value(in: list[1...], of: lookUp, isRepeated: true)
                    hasValue = lookUp.value != nil
                }
                if case .claiming = lookUp.machine.phase {
                    if hasValue {
                        statistics.found += 1
                        statistics.notFound -= 1
                    } else if !list[0].isOK {
                        statistics.waited += 1
                    }
                }
                take(.claimed(isWon: list[0].isOK, hasValue: hasValue), lookUp)
            }
        )
    }

    func publish(_ value: FleetValue, _ key: FleetKey, _ name: Name, _ view: String) {
        guard link.isUsable, let octets = value.octets else { return }
        let sealed = seal.seal(octets, for: key.digest)
        let message = FleetMessage.value(key, sealed).octets
        guard message.count <= FleetLimits.valueOctets else { return }
        statistics.published += 1
        names.note(key, RecentKeys.Subject(name: name, view: view))
        names.note(key, fetchedAt: value.fetchedAt)
        let isNegative = value.v4?.addresses.isEmpty ?? true && value.v6?.addresses.isEmpty ?? true
        let seconds = UInt64(value.ttl) + UInt64(isNegative ? 0 : staleWindow)
        let commands = [
            RedisCodec.command("SET", key.value, sealed, "PX", "\(max(1, seconds) * 1_000)"),
            RedisCodec.command("PUBLISH", FleetKeys.channel, message),
        ]
        link.sendWithoutWaiting(commands, Completion { [weak self] in _ = self?.replies($0) })
    }

    func release(_ lookUp: FleetLookUp) {
        let script =
            "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
        let command = RedisCodec.command("EVAL", script, "1", lookUp.key.lease, lookUp.token)
        link.sendWithoutWaiting([command], Completion { [weak self] in _ = self?.replies($0) })
    }

    /// Returns the replies; nil if one of them is an error, or if the commands failed.
    func replies(_ replies: EngineLink.Replies) -> [RedisReply]? {
        switch replies {
        case .success(let list):
            guard list.allSatisfy({ if case .error = $0 { false } else { true } }) else {
                return nil
            }
            return list
        case .failure(.timedOut): statistics.timeouts += 1
        case .failure: break
        }
        return nil
    }

    /// Returns the commands that read the values for the keys of a lookup.
    ///
    /// Each reads one octet above the limit, so that ``FleetSeal`` rejects a longer value.
    private func reads(_ lookUp: FleetLookUp) -> [[UInt8]] {
        lookUp.keys.map { key in
            RedisCodec.command("GETRANGE", key.value, "0", "\(FleetLimits.valueOctets)")
        }
    }

    /// Returns the first usable value in the replies to `reads`; stores a stale value in `lookUp`.
    ///
    /// - Parameter isRepeated: true for the second read, which does not count rejections again.
    func value(
        in replies: ArraySlice<RedisReply>,
        of lookUp: FleetLookUp,
        isRepeated: Bool = false
    ) -> FleetValue? {
        for (key, reply) in zip(lookUp.keys, replies) {
            guard let octets = reply.octets, !octets.isEmpty,
                let value = open(octets, key, lookUp.question.name, isRepeated: isRepeated)
            else { continue }
            if lookUp.accepts(value, at: now ?? 0) { return value }
            let age = UInt64(value.age(at: now ?? 0))
            if (UInt64(value.ttl)..<UInt64(value.ttl) + UInt64(staleWindow)).contains(age) {
                lookUp.stale = value
            }
        }
        return nil
    }

    /// Decrypts and checks a value; returns nil if the value is not usable.
    func open(
        _ sealed: [UInt8],
        _ key: FleetKey,
        _ name: Name,
        isRepeated: Bool = false
    ) -> FleetValue? {
        do throws(FleetRejection) {
            let value = try FleetValue(octets: try seal.open(sealed, for: key.digest))
            guard let now else { return nil }
            guard value.fetchedAt <= now + FleetLimits.clockTolerance else { throw .fromFuture }
            guard !flushes.covers(name, fetchedAt: value.fetchedAt, now: now) else {
                throw .flushed
            }
            // After a failover, the clock of the new Redis server can be behind, so that `known` is
            // in the future. Then all new values would count as replays.
            if let known = names[key]?.fetchedAt, known <= now + FleetLimits.clockTolerance,
                value.fetchedAt < known
            {
                guard value.fetchedAt >= known - FleetLimits.disorder else { throw .replayed }
                return nil
            }
            names.note(key, fetchedAt: value.fetchedAt)
            return value
        } catch {
            if !isRepeated { reject(error) }
            return nil
        }
    }
}
