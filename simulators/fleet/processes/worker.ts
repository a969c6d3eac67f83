/** A worker process: hosts its part of the robots for the coordinator that forked it, and ends with it. */

import type { HostConfig, PhaseRequest } from '../host/host.ts';
import { RobotHost } from '../host/robot-host.ts';
import type { Call, HostMethod, Notice, Reply } from './channel.ts';

let host: RobotHost | undefined;

const send = (message: Reply | Notice): void => {
  // The coordinator may be gone already; then there is nobody to tell.
  if (process.connected) process.send?.(message, () => {});
};

const methods: Record<HostMethod, (...args: never[]) => unknown> = {
  configure: (config: HostConfig) => {
    host = new RobotHost(config, {
      onTick: (value) => send({ notice: 'onTick', value }),
      onKeys: (value) => send({ notice: 'onKeys', value }),
      onViolation: (value) => send({ notice: 'onViolation', value }),
    });
  },
  tryOut: (robot: number) => host?.tryOut(robot),
  prepare: () => host?.prepare(),
  runPhase: (request: PhaseRequest) => host?.runPhase(request),
  finish: () => host?.finish(),
  cursors: () => host?.cursors(),
  snapshot: () => host?.snapshot(),
  memory: () => host?.memory(),
  stop: (how: 'orderly' | 'abandon') => host?.stop(how),
};

process.on('message', (message) => {
  const { call, method, args } = message as Call;
  Promise.resolve()
    .then(() => (methods[method] as (...given: unknown[]) => unknown)(...args))
    .then(
      (result) => send({ reply: call, result }),
      (error: unknown) => send({ reply: call, error: error instanceof Error ? error.message : String(error) }),
    );
});
// A terminal sends its interrupt to every process; the coordinator decides what it means.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => {
  // Nobody may be left to remove what lies in memory: a coordinator that was killed removes nothing.
  const end = (): void => {
    host?.removeFiles();
    process.exit();
  };
  if (host === undefined) end();
  else host.stop('abandon').then(end, end);
});
