/**
 * `--image IMAGE`: a container with the folder of the agent's socket mounted, or with a port mapped. It is started through
 * testcontainers: its logs are kept, its end is noticed, and it is removed at the end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import type { ContainerRuntimeClient, GenericContainer, StartedTestContainer } from 'testcontainers';
import { UsageError } from '../../common/usage.ts';
import type { StopSignal } from '../../contract/control.ts';
import type { ImageOptions } from '../options.ts';
import { accepts } from '../transports/transport.ts';
import { unix } from '../transports/unix.ts';
import { url } from '../transports/url.ts';
import {
  lastLines,
  OutputTail,
  type Started,
  StartFailed,
  type StartOptions,
  type Waiting,
  waitUntil,
} from './started.ts';

/** Where an image is expected to put its socket unless the options name another path. */
const DEFAULT_SOCKET = '/run/muster/agent.sock';

/** Starts an agent, with its socket or with a mapped port. Throws StartFailed; UsageError for a control in another folder. */
export const startDeviceImage = (options: StartOptions, image: ImageOptions): Promise<Started> =>
  image.port === undefined ? startOnSocket(options, image) : startOnPort(options, image, image.port);

/** Starts a target with a mapped port, which changes when the container is started again: so there is no restart. */
export async function startOnPort(options: StartOptions, image: ImageOptions, port: number): Promise<Started> {
  const container = await runContainer({ ...planOf(options, image), port });
  const place = { host: container.host(), port: container.mappedPort() };
  try {
    await container.until(`served port ${port}`, () => accepts(place));
  } catch (error) {
    await container.remove();
    throw error;
  }
  return {
    kind: 'image',
    at: { transport: url, address: `http://${place.host}:${place.port}` },
    ...(container.digest === undefined ? {} : { digest: container.digest }),
    diagnostics: () => container.logs(),
    close: () => container.remove(),
  };
}

async function startOnSocket(options: StartOptions, image: ImageOptions): Promise<Started> {
  const inside = image.socket ?? DEFAULT_SOCKET;
  if (image.control !== undefined && dirname(image.control) !== dirname(inside)) {
    throw new UsageError(`--control ${image.control}: must be in the folder of the image's socket, ${dirname(inside)}`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'));
  const socket = join(folder, basename(inside));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  let container: Awaited<ReturnType<typeof runContainer>>;
  try {
    container = await runContainer({
      ...planOf(options, image),
      mounts: [{ source: folder, target: dirname(inside) }],
    });
  } catch (error) {
    removeFolder();
    throw error;
  }
  const close = async (): Promise<void> => {
    await container.remove().finally(removeFolder);
  };
  const untilServing = (): Promise<void> => container.until(`served ${inside}`, () => unix.accepts(socket));
  try {
    await untilServing();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'image',
    at: { transport: unix, address: socket },
    ...(image.control === undefined ? {} : { control: join(folder, basename(image.control)) }),
    restart: {
      stop: (signal) => container.kill(signal),
      start: async () => {
        await container.start();
        await untilServing();
      },
    },
    ...(container.digest === undefined ? {} : { digest: container.digest }),
    diagnostics: () => container.logs(),
    close,
  };
}

const planOf = (
  { timeoutMs, notify, signal }: StartOptions,
  { name, args, user, env }: ImageOptions,
): ContainerPlan => ({
  ...{ timeoutMs, notify, signal },
  ...{ image: name, args, user, env },
});

/** A container to start; `mounts` are folders of this machine, `port` is one inside the container. */
interface ContainerPlan extends Pick<StartOptions, 'timeoutMs' | 'notify' | 'signal'> {
  image: string;
  mounts?: { source: string; target: string }[];
  port?: number | undefined;
  args?: readonly string[] | undefined;
  env?: Record<string, string> | undefined;
  user?: string | undefined;
}

/** A container that was started; `until` waits until it serves. */
interface RunningContainer {
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

const NO_REAPER = 'TESTCONTAINERS_RYUK_DISABLED';
type Docker = ContainerRuntimeClient['container']['dockerode'];

/** Throws StartFailed: no Docker, no such image, or it could not be started. */
async function runContainer(plan: ContainerPlan): Promise<RunningContainer> {
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
  const waiting: Waiting = {
    ...{ timeoutMs: plan.timeoutMs, signal: plan.signal, name: plan.image },
    ended: async () => {
      const { State: state } = await handle.inspect();
      return state.Running ? undefined : `ended with exit code ${state.ExitCode}`;
    },
    output: () => logs.text,
  };
  return {
    mappedPort: () => started.getMappedPort(plan.port ?? 0),
    host: () => started.getHost(),
    digest: await digestOfImage(docker, plan.image),
    until: async (what, look) => void (await waitUntil(what, async () => (await look()) || undefined, waiting)),
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
