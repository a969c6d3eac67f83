import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import type { ContainerRuntimeClient, GenericContainer, StartedTestContainer } from 'testcontainers';
import { defined } from '../../common/defined.ts';
import { ownedFolder } from '../../common/owner.ts';
import { UsageError } from '../../common/usage.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import type { ImageOptions } from '../fields.ts';
import { ContainerFiles, type Mount } from '../files/container-files.ts';
import type { TargetFiles } from '../files/target-files.ts';
import { accepts, acceptsControl, type TransportAddress, unix, url } from '../transports/index.ts';
import { OutputTail, type Started, StartFailed, type StartOptions, type Waiting, waitUntil } from './started.ts';

export type Docker = ContainerRuntimeClient['container']['dockerode'];
export type DockerContainer = ReturnType<Docker['getContainer']>;

/** Throws StartFailed, whose message suggests `instead`. */
export async function containerRuntime(instead: string): Promise<{
  testcontainers: typeof import('testcontainers');
  client: ContainerRuntimeClient;
}> {
  // Imports the package on demand, because its many dependencies and install scripts keep it out of Muster.
  const testcontainers = await import('testcontainers').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StartFailed(
      '--image needs the package testcontainers, and it is not installed. Run ' +
        `\`npm install --save-dev testcontainers\` beside Muster, or ${instead}`,
      { cause: error },
    );
  });
  const client = await testcontainers.getContainerRuntimeClient().catch((error: unknown) => {
    throw new StartFailed(
      `--image needs Docker, and no container runtime answers (${reasonOf(error)}). Start Docker and try ` +
        `\`docker info\`, set DOCKER_HOST, or ${instead}`,
      { cause: error },
    );
  });
  return { testcontainers, client };
}

export const digestOfImage = ({ RepoDigests, Id }: { RepoDigests?: string[]; Id: string }): string =>
  RepoDigests?.[0]?.split('@')[1] ?? Id;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const NO_REAPER = 'TESTCONTAINERS_RYUK_DISABLED';

async function runContainer(options: StartOptions, image: ImageOptions, mounts: readonly Mount[] = []) {
  const instead = 'test the agent without a container: --command LINE or --socket PATH';
  const { testcontainers, client } = await containerRuntime(instead);
  const docker = client.container.dockerode;
  options.notify(`starting ${image.name}`);
  const container = containerFor(options, image, mounts, testcontainers);
  const started = await start(container, docker, image.name, options.notify).catch((error: unknown) => {
    throw new StartFailed(`--image ${image.name}: ${reasonOf(error)}`, { cause: error });
  });
  const handle = docker.getContainer(started.getId());
  // Asks the container for its image, because the name may point to a newer image by now.
  const { Image: id } = await handle.inspect();
  const digest = digestOfImage(await docker.getImage(id).inspect());
  return new RunningContainer(started, handle, { ...options, name: image.name }, mounts, digest);
}

class RunningContainer {
  readonly digest: string;
  readonly files: TargetFiles;
  readonly #started: StartedTestContainer;
  readonly #handle: DockerContainer;
  readonly #waiting: Omit<Waiting, 'ended' | 'output'>;
  #ended: string | undefined;
  #expected = false;
  #runs = 0;

  constructor(
    started: StartedTestContainer,
    handle: DockerContainer,
    waiting: Omit<Waiting, 'ended' | 'output'>,
    mounts: readonly Mount[],
    digest: string,
  ) {
    this.#started = started;
    this.#handle = handle;
    this.#waiting = waiting;
    this.files = new ContainerFiles(mounts, handle);
    this.digest = digest;
    this.#follow();
  }

  placeOf(port: number): { host: string; port: number } {
    return { host: this.#started.getHost(), port: this.#started.getMappedPort(port) };
  }

  async until(what: string, look: () => Promise<boolean>, signal = this.#waiting.signal): Promise<void> {
    await waitUntil(what, async () => (await look()) || undefined, {
      ...this.#waiting,
      signal,
      ended: () => this.#how(),
      output: () => this.logs(),
    });
  }

  endedByItself(): string | undefined {
    return this.#ended === undefined ? undefined : `${this.#waiting.name} ${this.#ended}`;
  }

  async kill(signal: StopSignal): Promise<void> {
    this.#expected = true;
    const gone = (timeoutMs: number) =>
      pollWithin('the end of the container', () => this.#how(), { timeoutMs, firstPauseMs: 20 });
    await this.#handle.kill({ signal }).catch(unlessSo);
    // SIGKILL follows, because a container's first process ignores signals without a handler.
    if ((await gone(10_000)) !== undefined) return;
    await this.#handle.kill({ signal: 'SIGKILL' }).catch(unlessSo);
    await gone(Number.POSITIVE_INFINITY);
  }

  async start(): Promise<void> {
    if ((await this.#how()) === undefined) return;
    await this.#handle.start().catch(unlessSo);
    this.#expected = false;
    this.#ended = undefined;
    this.#follow();
  }

  async remove(): Promise<void> {
    this.#expected = true;
    await this.#started.stop({ timeout: 5000, remove: true });
  }

  /** Reads the last lines on demand, because a container may flood its log. */
  async logs(): Promise<string> {
    const tail = new OutputTail();
    const wanted = { follow: false, stdout: true, stderr: true, tail: 100 } as const;
    const log = await this.#handle.logs(wanted).catch(() => undefined);
    if (log === undefined) return '';
    // Skips the 8-byte header of each payload; its last 4 bytes are the payload's length.
    for (let at = 8; at <= log.length; ) {
      const end = at + log.readUInt32BE(at - 4);
      tail.add(log.subarray(at, end));
      at = end + 8;
    }
    return tail.text.trim();
  }

  async #how(): Promise<string | undefined> {
    const { State: state } = await this.#handle.inspect();
    return state.Running ? undefined : `ended with exit code ${state.ExitCode}`;
  }

  #follow(): void {
    this.#runs += 1;
    const run = this.#runs;
    this.#handle.wait().then(
      ({ StatusCode: code }: { StatusCode: number }) => {
        if (run === this.#runs && !this.#expected) this.#ended = `ended with exit code ${code}`;
      },
      // A failed wait means that Docker or the container is gone.
      () => {},
    );
  }
}

/** Status 304 or 409: the container already is in the requested state. */
function unlessSo(error: unknown): void {
  const { statusCode } = error as { statusCode?: unknown };
  if (statusCode !== 304 && statusCode !== 409) throw error;
}

function containerFor(
  { timeoutMs }: StartOptions,
  { name, port, args, env, user }: ImageOptions,
  mounts: readonly Mount[],
  { GenericContainer, StartupCheckStrategy }: typeof import('testcontainers'),
): GenericContainer {
  // Skips the start check of testcontainers, because `until` waits for the agent.
  class NoCheck extends StartupCheckStrategy {
    override checkStartupState(): Promise<'SUCCESS'> {
      return Promise.resolve('SUCCESS');
    }
  }
  class Container extends GenericContainer {
    /** Limits the log on disk, because Docker keeps every line by default. */
    withBoundedLog(): this {
      this.hostConfig.LogConfig = { Type: 'json-file', Config: { 'max-size': '4m', 'max-file': '1' } };
      return this;
    }
  }
  const container = new Container(name)
    .withBoundedLog()
    .withWaitStrategy(new NoCheck())
    .withStartupTimeout(timeoutMs)
    .withBindMounts(mounts.map((mount) => ({ ...mount, mode: 'rw' as const })));
  if (port !== undefined) container.withExposedPorts(port);
  if (args !== undefined) container.withCommand([...args]);
  if (env !== undefined) container.withEnvironment(env);
  if (user !== undefined) {
    const hostUser = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
    container.withUser(user === 'host' ? hostUser : user);
  }
  return container;
}

async function start(container: GenericContainer, docker: Docker, name: string, notify: StartOptions['notify']) {
  try {
    return await container.start();
  } catch (error) {
    const reaperMissing =
      process.env[NO_REAPER] !== 'true' && /registry|pull|manifest|no such image|denied/i.test(reasonOf(error));
    if (!reaperMissing) throw error;
    const image = docker.getImage(name);
    await image.inspect().catch(() => {
      throw error;
    });
    notify('testcontainers’ reaper image cannot be fetched: going on without it');
    process.env[NO_REAPER] = 'true';
    return container.start();
  }
}

/**
 * Throws StartFailed, or UsageError for a control socket outside the socket's folder. An image with a port has no
 * restart, because the mapped port changes with each start.
 */
export async function startImage(options: StartOptions, image: ImageOptions): Promise<Started> {
  const { port } = image;
  if (port === undefined) return startOnSocket(options, image);
  const container = await runContainer(options, image);
  const place = container.placeOf(port);
  const at = { transport: url, address: `http://${place.host}:${place.port}` };
  const untilServing = () => container.until(`served port ${port}`, () => accepts(place));
  return serving(container, at, () => container.remove(), untilServing);
}

async function startOnSocket(options: StartOptions, image: ImageOptions): Promise<Started> {
  const inside = image.socket ?? '/run/muster/agent.sock';
  if (image.control !== undefined && dirname(image.control) !== dirname(inside))
    throw new UsageError(`--control ${image.control}: must be in the folder of the image's socket, ${dirname(inside)}`);
  const folder = ownedFolder('image');
  const socket = join(folder, basename(inside));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const mounts = [{ source: folder, target: dirname(inside) }];
  const container = await runContainer(options, image, mounts).catch((error: unknown) => {
    removeFolder();
    throw error;
  });
  const close = (): Promise<void> => container.remove().finally(removeFolder);
  const control = image.control === undefined ? undefined : join(folder, basename(image.control));
  const untilServing = async (signal?: AbortSignal): Promise<void> => {
    await container.until(`served ${inside}`, () => unix.accepts(socket), signal);
    if (control !== undefined)
      await container.until(`served its control API at ${image.control}`, () => acceptsControl(control), signal);
  };
  const restart = {
    stop: (signal: StopSignal) => container.kill(signal),
    start: async (signal?: AbortSignal) => {
      await container.start();
      await untilServing(signal);
    },
    endedByItself: () => container.endedByItself(),
  };
  const started = await serving(container, { transport: unix, address: socket }, close, untilServing);
  return { ...started, ...defined({ control }), restart };
}

async function serving(
  container: RunningContainer,
  at: TransportAddress,
  close: () => Promise<void>,
  untilServing: () => Promise<void>,
): Promise<Started> {
  try {
    await untilServing();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'image',
    at,
    ran: { of: 'image', digest: container.digest },
    files: container.files,
    diagnostics: () => container.logs(),
    close,
  };
}
