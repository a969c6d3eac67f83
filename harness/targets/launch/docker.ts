/** A container started through testcontainers: its logs are kept, its end is noticed, and it is removed at the end. */
import process from 'node:process';
import type { ContainerRuntimeClient, GenericContainer, StartedTestContainer } from 'testcontainers';
import { poll } from '../../common/poll.ts';
import type { StopSignal } from '../../contract/control.ts';
import { lastLines, OutputTail, StartFailed, type StartOptions } from './started.ts';

/** A container to start; `mounts` are folders of this machine, `port` is one inside the container. */
export interface ContainerPlan extends Pick<StartOptions, 'timeoutMs' | 'notify' | 'signal'> {
  image: string;
  mounts?: { source: string; target: string }[];
  port?: number | undefined;
  args?: readonly string[] | undefined;
  env?: Record<string, string> | undefined;
  user?: string | undefined;
}

/** A container that was started; whether it serves is for `until` to say. */
export interface RunningContainer {
  /** Host port that leads to `port`. */
  mappedPort(): number;
  host(): string;
  /** `sha256:…`: of the image in its registry when it came from one, otherwise of the image itself. */
  digest: string | undefined;
  /** Polls until the container has done `what`. Throws StartFailed when it ends before that, or takes too long. */
  until(what: string, look: () => Promise<boolean>): Promise<void>;
  kill(signal: StopSignal): Promise<void>;
  start(): Promise<void>;
  logs(): string;
  remove(): Promise<void>;
}

const POLL_MS = 50;
const NO_REAPER = 'TESTCONTAINERS_RYUK_DISABLED';
type Docker = ContainerRuntimeClient['container']['dockerode'];

/** Throws StartFailed: no Docker, no such image, or it could not be started. */
export async function runContainer(plan: ContainerPlan): Promise<RunningContainer> {
  // Loaded when an image is asked for: it is the largest dependency.
  const testcontainers = await import('testcontainers');
  const client = await testcontainers.getContainerRuntimeClient().catch((error: unknown) => {
    throw new StartFailed(
      `--image needs Docker, and no container runtime answers (${message(error)}). Start Docker and try \`docker info\`, set DOCKER_HOST, or test the agent without a container: --command LINE or --socket PATH`,
      { cause: error },
    );
  });
  const docker = client.container.dockerode;
  const logs = new OutputTail();
  const container = containerFor(plan, testcontainers, logs);
  plan.notify(`starting ${plan.image}`);
  const started = await start(container, plan, docker).catch((error: unknown) => {
    throw new StartFailed(`--image ${plan.image}: ${message(error)}${lastLines(logs.text)}`, { cause: error });
  });
  const handle = docker.getContainer(started.getId());
  const untilDone = async (what: string, look: () => Promise<boolean>): Promise<void> => {
    const lookWhileRunning = async (): Promise<true | undefined> => {
      if (await look()) return true;
      plan.signal?.throwIfAborted();
      const { State: state } = await handle.inspect();
      if (state.Running) return undefined;
      throw new StartFailed(
        `${plan.image} ended with exit code ${state.ExitCode} before it ${what}${lastLines(logs.text)}`,
      );
    };
    const { timeoutMs, signal } = plan;
    const timeoutError = (): Error =>
      new StartFailed(
        `${plan.image} is running, but has not ${what} within ${timeoutMs / 1000} s${lastLines(logs.text)}`,
      );
    await poll(what, lookWhileRunning, { timeoutMs, firstPauseMs: POLL_MS, signal, timeoutError });
  };
  return {
    mappedPort: () => started.getMappedPort(plan.port ?? 0),
    host: () => started.getHost(),
    digest: await digestOfImage(docker, plan.image),
    until: untilDone,
    async kill(signal) {
      await handle.kill({ signal });
      await handle.wait();
    },
    start: async () => void (await handle.start()),
    logs: () => logs.text,
    remove: async () => void (await started.stop({ timeout: 5000, remove: true })),
  };
}

function containerFor(
  plan: ContainerPlan,
  { GenericContainer, StartupCheckStrategy }: typeof import('testcontainers'),
  logs: OutputTail,
): GenericContainer {
  // `until` waits for the agent itself, and sees at once when the container ends.
  class NoCheck extends StartupCheckStrategy {
    override checkStartupState(): Promise<'SUCCESS'> {
      return Promise.resolve('SUCCESS');
    }
  }
  const container = new GenericContainer(plan.image)
    .withWaitStrategy(new NoCheck())
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
  return container;
}

/** Testcontainers first starts an image of its own, to clean up after a crash; offline it cannot be fetched, and is left out. */
async function start(container: GenericContainer, plan: ContainerPlan, docker: Docker): Promise<StartedTestContainer> {
  try {
    return await container.start();
  } catch (error) {
    const reaperMissing =
      process.env[NO_REAPER] !== 'true' && /registry|pull|manifest|no such image|denied/i.test(message(error));
    if (!reaperMissing || !(await hasImage(docker, plan.image))) throw error;
    plan.notify('testcontainers’ reaper image cannot be fetched: going on without it');
    process.env[NO_REAPER] = 'true';
    return container.start();
  }
}

const hasImage = (docker: Docker, image: string): Promise<boolean> =>
  docker
    .getImage(image)
    .inspect()
    .then(
      () => true,
      () => false,
    );

async function digestOfImage(docker: Docker, name: string): Promise<string | undefined> {
  const image = await docker.getImage(name).inspect();
  return image.RepoDigests?.[0]?.split('@')[1] ?? image.Id;
}

const hostUser = (): string => `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
