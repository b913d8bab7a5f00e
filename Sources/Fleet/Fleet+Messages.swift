// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - Messages

extension Fleet {
    func take(_ octets: [UInt8]?) {
        do throws(FleetRejection) {
            guard let octets else { throw .tooLong }
            switch try FleetMessage(octets: octets) {
            case .value(let key, let sealed): try take(key, sealed)
            case .flush(let sealed):
                let flush = try FleetFlush(
                    octets: try seal.open(sealed, for: FleetMessage.flushContext)
                )
                guard let now, flush.at <= now + FleetLimits.clockTolerance else {
                    throw .fromFuture
                }
                guard flush.at >= now - FleetLimits.flushAge else { throw .replayed }
                takeNew(flush)
            }
        } catch {
            reject(error)
        }
    }

    func take(_ key: FleetKey, _ sealed: [UInt8]) throws(FleetRejection) {
        guard let subject = names[key] else {
            // This host did not use the name recently. It only checks that the value is authentic.
            _ = try seal.open(sealed, for: key.digest)
            return
        }
        let known = subject.fetchedAt
        // Redis also delivers this host's own messages. The value in such a message has the time
        // that is already known for the name.
        guard let value = open(sealed, key, subject.name), value.fetchedAt != known, let now else {
            return
        }
        let age = value.age(at: now)
        guard age < value.ttl else { return }
        statistics.received += 1
        let waiting = lookUps.values.filter { $0.waits && $0.keys.contains(key) }
        if waiting.isEmpty { onPush?(value, subject.name, subject.view, age) }
        for lookUp in waiting {
            lookUp.value = value
            take(.received, lookUp)
        }
    }

    /// Applies the stored flushes that this host missed; `list` begins with the newest flush.
    func takeStored(_ list: [[UInt8]]) {
        guard let now else { return }
        var stored: [FleetFlush] = []
        for sealed in list.reversed() {
            do throws(FleetRejection) {
                let octets = try seal.open(sealed, for: FleetMessage.flushContext)
                stored.append(try FleetFlush(octets: octets))
            } catch {
                reject(error)
            }
        }
        let isFull = list.count >= FleetLimits.flushes
        for flush in flushes.add(stored: stored, isFull: isFull, now: now) {
            onFlush?(flush, .milliseconds(max(0, now - flush.at)))
        }
    }

    private func takeNew(_ flush: FleetFlush) {
        guard let now, flushes.add(flush, now: now) else { return }
        onFlush?(flush, .milliseconds(max(0, now - flush.at)))
    }

    /// Sends a flush to all hosts, which then reject shared answers from before the flush.
    package func flush(
        _ scope: FleetFlush.Scope,
        isSoft: Bool,
        _ completion: consuming Completion<Bool>
    ) {
        guard link.isUsable, let now else { return completion(false) }
        let flush = FleetFlush(scope, isSoft: isSoft, at: now)
        _ = flushes.add(flush, now: now)
        let sealed = seal.seal(flush.octets, for: FleetMessage.flushContext)
        let commands = [
            RedisCodec.command("LPUSH", flushKey, sealed),
            RedisCodec.command("LTRIM", flushKey, "0", "\(FleetLimits.flushes - 1)"),
            RedisCodec.command("EXPIRE", flushKey, "\(FleetLimits.flushSeconds)"),
            RedisCodec.command("PUBLISH", FleetKeys.channel, FleetMessage.flush(sealed).octets),
        ]
        let answered = completion.after { [weak self] (replies: EngineLink.Replies, completion) in
            completion(self?.replies(replies) != nil)
        }
        link.sendWithoutWaiting(commands, answered)
    }
}
