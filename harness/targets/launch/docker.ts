/** A container started through testcontainers: its logs kept, its end noticed, itself removed at the end. */
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StartedTestContainer } from 'testcontainers';
import type { StopSignal } from '../../contract/control.ts';
import { StartFailed } from './ready.ts';
import { Tail } from './tail.ts';

export interface ContainerPlan {
  image: string;
  mounts?: { source: string; target: string }[];
  port?: number | undefined;
  args?: readonly string[] | undefined;
  env?: Record<string, string> | undefined;
  user?: string | undefined;
  timeoutMs: number;
  notify(text: string): void;
  signal?: AbortSignal | undefined;
}

export interface RunningContainer {
  /** Host port that leads to `port`. */
  mappedPort(): number;
  host(): string;
  /** `sha256:…`: of the image in its registry when it came from one, otherwise of the image itself. */
  digest: string | undefined;
  /** Polls until `probe` holds; throws StartFailed with the logs when the container ends first. */
  until(what: string, probe: () => Promise<boolean>): Promise<void>;
  kill(signal: StopSignal): Promise<void>;
  start(): Promise<void>;
  logs(): string;
  remove(): Promise<void>;
}

const POLL_MS = 50;
const NO_REAPER = 'TESTCONTAINERS_RYUK_DISABLED';

/** Throws StartFailed: no Docker, no such image, or it could not be started. */
export async function runContainer(plan: ContainerPlan): Promise<RunningContainer> {
  // Loaded only when asked for: it is the largest dependency there is.
  const { GenericContainer, getContainerRuntimeClient, StartupCheckStrategy } = await import('testcontainers');
  const client = await getContainerRuntimeClient().catch((error: unknown) => {
    throw new StartFailed(
      `--image needs Docker, and no container runtime answers (${message(error)}). Start Docker and try \`docker info\`, set DOCKER_HOST, or test the agent without a container: --command LINE or --socket PATH`,
      { cause: error },
    );
  });
  const { dockerode } = client.container;
  class AtOnce extends StartupCheckStrategy {
    override checkStartupState(): Promise<'SUCCESS'> {
      return Promise.resolve('SUCCESS');
    }
  }
  const logs = new Tail();
  const container = new GenericContainer(plan.image)
    .withWaitStrategy(new AtOnce())
    .withStartupTimeout(plan.timeoutMs)
    .withLogConsumer((stream) => {
      stream.setEncoding('utf8').on('data', (text: string) => {
        logs.add(text);
      });
    });
  if (plan.mounts !== undefined)
    container.withBindMounts(plan.mounts.map((mount) => ({ ...mount, mode: 'rw' as const })));
  if (plan.port !== undefined) container.withExposedPorts(plan.port);
  if (plan.args !== undefined) container.withCommand([...plan.args]);
  if (plan.env !== undefined) container.withEnvironment(plan.env);
  if (plan.user !== undefined) container.withUser(plan.user === 'host' ? hostUser() : plan.user);
  plan.notify(`starting ${plan.image}`);
  let started: StartedTestContainer;
  try {
    started = await container.start().catch(async (error: unknown) => {
      if (!(await onlyReaperMissing(error))) throw error;
      plan.notify('testcontainers’ reaper image cannot be fetched: going on without it');
      process.env[NO_REAPER] = 'true';
      return container.start();
    });
  } catch (error) {
    throw new StartFailed(`--image ${plan.image}: ${message(error)}${last(logs.text)}`, { cause: error });
  }
  const handle = dockerode.getContainer(started.getId());
  const running = async (): Promise<{ running: boolean; code: number }> => {
    const { State } = await handle.inspect();
    return { running: State.Running, code: State.ExitCode };
  };
  return {
    mappedPort: () => started.getMappedPort(plan.port ?? 0),
    host: () => started.getHost(),
    digest: await imageDigest(),
    async until(what, probe) {
      const deadline = performance.now() + plan.timeoutMs;
      while (!(await probe())) {
        plan.signal?.throwIfAborted();
        const state = await running();
        if (!state.running)
          throw new StartFailed(`${plan.image} ended with exit code ${state.code} before ${what}${last(logs.text)}`);
        if (performance.now() > deadline) {
          throw new StartFailed(
            `${plan.image} runs, but it did not come to this within ${plan.timeoutMs / 1000} s: ${what}${last(logs.text)}`,
          );
        }
        await sleep(POLL_MS);
      }
    },
    async kill(signal) {
      await handle.kill({ signal });
      await handle.wait();
    },
    start: async () => void (await handle.start()),
    logs: () => logs.text,
    remove: async () => void (await started.stop({ timeout: 5000, remove: true })),
  };

  /** Testcontainers first starts an image of its own, to clean up after a crash; offline, that is all there is to fail. */
  async function onlyReaperMissing(error: unknown): Promise<boolean> {
    if (process.env[NO_REAPER] === 'true' || !/registry|pull|manifest|no such image|denied/i.test(message(error)))
      return false;
    return dockerode
      .getImage(plan.image)
      .inspect()
      .then(
        () => true,
        () => false,
      );
  }

  async function imageDigest(): Promise<string | undefined> {
    const image = await dockerode.getImage(plan.image).inspect();
    return image.RepoDigests?.[0]?.split('@')[1] ?? image.Id;
  }
}

const hostUser = (): string => `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
const last = (logs: string): string =>
  logs.trim() === '' ? '; it wrote nothing' : `; its last words:\n${logs.trim()}`;
const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
