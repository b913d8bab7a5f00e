// SPDX-License-Identifier: Apache-2.0
internal import Net

extension EngineLink {
    /// Sends commands together; Redis must answer within the timeout of the settings.
    ///
    /// A timeout counts towards the circuit breaker; an error reply closes the connections.
    func send(_ list: [[UInt8]], _ completion: consuming Completion<Replies>) {
        guard let commands, !breaker.isOpen else {
            let reason = "not connected to the Redis server, or backing off after timeouts"
            return completion(.failure(.lost(reason)))
        }
        let judged = completion.after { [weak self] (replies: Replies, completion) in
            self?.judge(replies)
            completion(replies)
        }
        commands.send(list, deadline: clocks.now() + timeout, judged)
    }

    /// Sends commands for which no client waits.
    ///
    /// A timeout does not count towards the circuit breaker.
    func sendWithoutWaiting(_ list: [[UInt8]], _ completion: consuming Completion<Replies>) {
        guard let commands else {
            return completion(.failure(.lost("not connected to the Redis server")))
        }
        let judged = completion.after { [weak self] (replies: Replies, completion) in
            if case .success = replies { self?.judge(replies) }
            completion(replies)
        }
        commands.send(list, deadline: clocks.now() + FleetLimits.command, judged)
    }

    private func judge(_ replies: Replies) {
        switch replies {
        case .success(let replies):
            for case .error(let text) in replies {
                return drop(.refused(text))
            }
            breaker.answered()
        case .failure(.timedOut):
            guard breaker.timedOut(silence: commands?.silence ?? .zero),
                case .connected(let server) = state
            else { return }
            becomeAlone(.timedOut)
            probe.set(clocks.now())
            probing = server
        case .failure: break
        }
    }

    func sendProbe() {
        guard let commands, breaker.isOpen else { return }
        guard commands.silence < FleetLimits.silence else { return drop(.timedOut) }
        probe.set(clocks.now() + FleetLimits.probe)
        commands.send(
            [probeCommand],
            deadline: clocks.now() + timeout,
            Completion { [weak self] replies in
                guard let self, case .success(let list) = replies else { return }
                if case .error(let text) = list[0] { return drop(.refused(text)) }
                guard breaker.probeAnswered(), let server = probing else { return }
                becomeConnected(server)
            }
        )
    }

    /// Sends the heartbeat, and reads the clock and the number of hosts.
    func beat() {
        guard let commands, let messages else { return }
        heartbeat.set(clocks.now() + FleetLimits.heartbeat)
        let sent = clocks.now()
        let seconds = (clock?.milliseconds(at: sent) ?? 0) / 1_000
        let forgotten = "\(seconds - FleetLimits.memberSeconds)"
        let list = [
            RedisCodec.command("TIME"),
            RedisCodec.command("ZADD", keys.members, "\(seconds)", keys.member),
            RedisCodec.command("ZREMRANGEBYSCORE", keys.members, "-inf", forgotten),
            RedisCodec.command("ZCARD", keys.members),
            RedisCodec.command("EXPIRE", keys.members, "\(2 * FleetLimits.memberSeconds)"),
        ]
        let deadline = clocks.now() + FleetLimits.command
        commands.send(
            list,
            deadline: deadline,
            Completion { [weak self] replies in
                guard let self else { return }
                if case .failure(.timedOut) = replies { return drop(.timedOut) }
                guard case .success(let list) = replies else { return }
                for case .error(let text) in list { return drop(.refused(text)) }
                do throws(EngineError) {
                    try setClock(list[0], sent: sent)
                } catch {
                    return drop(error)
                }
                if case .integer(let count) = list[3] {
                    members = Int(min(max(0, count), Int64(FleetLimits.mostMembers)))
                }
            }
        )
        messages.send(
            [RedisCodec.command("PING")],
            deadline: deadline,
            Completion { [weak self] replies in
                if case .failure(.timedOut) = replies { self?.drop(.timedOut) }
            }
        )
    }
}
