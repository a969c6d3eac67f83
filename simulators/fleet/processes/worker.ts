/** Entry of a worker process: hosts its part of the robots for the coordinator that forked it, and ends with it. */
import type { HostConfig, PhaseRequest, StopMode } from '../host/host.ts';
import { RobotHost } from '../host/robot-host.ts';
import { ALIVE_EVERY_MS, type Call, type HostMethod, type Notice, type Reply, SIGN_OF_LIFE } from './process-host.ts';

class Worker {
  #host: RobotHost | undefined;

  readonly #methods: Record<HostMethod, (...args: never[]) => unknown> = {
    configure: (config: HostConfig) => {
      this.#host = new RobotHost(config, {
        onTick: (value) => this.#send({ notice: 'onTick', value }),
        onKeys: (value) => this.#send({ notice: 'onKeys', value }),
        onViolation: (value) => this.#send({ notice: 'onViolation', value }),
        onDisturbance: (value) => this.#send({ notice: 'onDisturbance', value }),
        onStates: (value) => this.#send({ notice: 'onStates', value }),
      });
    },
    runCanary: (robot: number) => this.#host?.runCanary(robot),
    prepare: () => this.#host?.prepare(),
    runPhase: (request: PhaseRequest) => this.#host?.runPhase(request),
    soFar: () => this.#host?.soFar(),
    grow: (members: number[], robots: number) => this.#host?.grow(members, robots),
    finish: () => this.#host?.finish(),
    cursors: () => this.#host?.cursors(),
    snapshot: () => this.#host?.snapshot(),
    memory: () => this.#host?.memory(),
    stop: (how: StopMode) => this.#host?.stop(how),
  };

  alive(): void {
    this.#send(SIGN_OF_LIFE);
  }

  async answer({ call, method, args }: Call): Promise<void> {
    try {
      const result = await (this.#methods[method] as (...given: unknown[]) => unknown)(...args);
      this.#send({ reply: call, result });
    } catch (error) {
      this.#send({ reply: call, error: error instanceof Error ? error.message : String(error) });
    }
  }

  /** A coordinator that was killed removes nothing, so this worker removes the files of its robots from memory. */
  async end(): Promise<void> {
    await this.#host?.stop('abandon').catch(() => {});
    this.#host?.removeFiles();
    process.exit();
  }

  #send(message: Reply | Notice | typeof SIGN_OF_LIFE): void {
    // The coordinator may have ended already.
    if (process.connected) process.send?.(message, () => {});
  }
}

const worker = new Worker();
worker.alive();
setInterval(() => worker.alive(), ALIVE_EVERY_MS).unref();
process.on('message', (message) => void worker.answer(message as Call));
process.on('disconnect', () => void worker.end());
// A terminal sends its interrupt to every process; the coordinator decides what it means.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
