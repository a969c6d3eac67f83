import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { type Duplex, Writable } from 'node:stream';
import { containerRuntime, type Docker, type DockerContainer, digestOfImage, reasonOf } from '../launch/container.ts';
import { ProcessGroup } from '../launch/process.ts';
import { Lines, lastLines, OutputTail, StartFailed } from '../launch/started.ts';
import type { ClientContext, ClientListener, ClientStart, RunningClient, StartClient } from '../opened.ts';

const LONGEST_LINE = 32 * 1024 * 1024;

const complaintsIn = (stderr: string): string => (stderr.trim() === '' ? '' : lastLines(stderr));

function linesOf({ line, complaint = () => {} }: ClientListener) {
  const [stdout, stderr] = [new Lines(LONGEST_LINE, line), new Lines(LONGEST_LINE, complaint)];
  return {
    onStdout: (output: Buffer) => stdout.add(output),
    onStderr: (output: Buffer) => stderr.add(output),
    end: () => {
      stdout.end();
      stderr.end();
    },
  };
}

/** Never throws; if the command cannot start, the returned client ends immediately. */
export function startClientProcess(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  listener: ClientListener,
): RunningClient {
  const output = linesOf(listener);
  // SIGKILL follows SIGTERM after 2 s, because a client has no data to lose.
  const group = new ProcessGroup(line, env, { graceMs: 2000, ...output });
  void group.ended.then(() => {
    output.end();
    listener.ended();
  });
  return {
    get how() {
      const how = group.endedByItself;
      return how === undefined ? undefined : `${how}${complaintsIn(group.stderr)}`;
    },
    get code() {
      return group.code;
    },
    get diagnostics() {
      return group.stderr;
    },
    stop: () => group.stop(),
  };
}

export function startsOfOneCheck(startOne: StartClient): Required<Pick<ClientContext, 'start' | 'standardError'>> {
  let last = (): string => '';
  return {
    start(situation, listener) {
      const run = startOne(situation, listener);
      let whole: string | undefined;
      last = () => whole ?? run.diagnostics;
      return {
        get how() {
          return run.how;
        },
        get code() {
          return run.code;
        },
        get diagnostics() {
          return run.diagnostics;
        },
        stop() {
          whole ??= run.diagnostics;
          return run.stop();
        },
      };
    },
    standardError: () => last(),
  };
}

const FOLDER = '/run/muster';

/** Pulls only a missing image. Throws StartFailed. */
export async function findClientImage(image: string, notify: (text: string) => void) {
  const { testcontainers, client } = await containerRuntime('run the client without a container: --command LINE');
  const { host } = client.info.containerRuntime;
  if (!(await isHere(host)))
    throw new StartFailed(
      `--image ${image}: Docker runs on ${host}, and a client is served on loopback of this machine. Use ` +
        'Docker on this machine, or run the client without a container: --command LINE',
    );
  const name = testcontainers.ImageName.fromString(image);
  const { Id, RepoDigests } = await client.image
    .pull(name)
    .then(() => client.image.inspect(name))
    .catch((error: unknown) => {
      const why = `not on this machine, and it cannot be fetched (${reasonOf(error)})`;
      throw new StartFailed(`--image ${image}: ${why}`, { cause: error });
    });
  // Labels containers for the reaper, which removes them if Muster is killed.
  const labels = await testcontainers.getReaper(client).then(
    ({ sessionId }) => ({ [testcontainers.LABEL_TESTCONTAINERS_SESSION_ID]: sessionId }),
    () => {
      notify('testcontainers’ reaper cannot be started: going on without it');
      return {};
    },
  );
  const docker = client.container.dockerode;
  return {
    ran: { of: 'image', digest: digestOfImage({ Id, RepoDigests }) } as const,
    // Starts the image by id, because the name may move to a newer image during the run.
    start: (situation: ClientStart, listener: ClientListener) =>
      new ContainerRun(create(docker, Id, labels, situation), listener),
  };
}

/** Tries to listen on `host`, because a list of interfaces would omit inactive interfaces. */
async function isHere(host: string): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen({ host, port: 0 }), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

class ContainerRun implements RunningClient {
  readonly #stderr = new OutputTail();
  readonly #created: Promise<DockerContainer>;
  readonly #started: Promise<{ container: DockerContainer; read: Promise<unknown> }>;
  readonly #over: Promise<void>;
  #how: string | undefined;
  #stopping: Promise<void> | undefined;
  #output: Duplex | undefined;
  code: number | undefined;

  constructor(created: Promise<DockerContainer>, listener: ClientListener) {
    const output = linesOf(listener);
    this.#created = created;
    this.#started = this.#start(output);
    this.#over = this.#started
      .then(async ({ container, read }) => {
        if (this.#stopping !== undefined) return;
        const { StatusCode: code } = (await container.wait()) as { StatusCode: number };
        await read;
        this.code = code;
        this.#how = `ended with exit code ${code}`;
      })
      .catch((error: unknown) => {
        this.#how = `could not be started (${reasonOf(error)})`;
      })
      .then(() => {
        output.end();
        listener.ended();
      });
  }

  get how(): string | undefined {
    if (this.#how === undefined || this.#stopping !== undefined) return undefined;
    return `${this.#how}${complaintsIn(this.#stderr.text)}`;
  }

  get diagnostics(): string {
    return this.#stderr.text;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start({
    onStdout,
    onStderr,
  }: ReturnType<typeof linesOf>): Promise<{ container: DockerContainer; read: Promise<unknown> }> {
    const container = await this.#created;
    // Attaches before the container starts, so that no output is lost.
    const output = (await container.attach({ stream: true, stdout: true, stderr: true })) as Duplex;
    this.#output = output;
    const read = once(output, 'close').catch(() => {});
    const complaints = sink((piece) => {
      onStderr(piece);
      this.#stderr.add(piece);
    });
    container.modem.demuxStream(output, sink(onStdout), complaints);
    if (this.#stopping === undefined) await container.start();
    return { container, read };
  }

  async #stop(): Promise<void> {
    // Waits for a pending start, because Docker may still start a container after a failed removal.
    await Promise.allSettled([this.#started]);
    await this.#created.then((container) => container.remove({ force: true, v: true })).catch(() => {});
    // Closes the attached output, because Docker keeps the output of a never started container open.
    this.#output?.destroy();
    await this.#over;
  }
}

function create(docker: Docker, image: string, labels: Record<string, string>, { variables, folder }: ClientStart) {
  // Lets every user read the folder, because the container runs as another user.
  if (folder !== undefined) chmodSync(folder, 0o755);
  const inside = (value: string): string =>
    folder !== undefined && value.startsWith(`${folder}/`) ? `${FOLDER}${value.slice(folder.length)}` : value;
  return docker.createContainer({
    Image: image,
    Labels: { ...labels },
    Env: Object.entries(variables).map(([name, value]) => `${name}=${inside(value)}`),
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      // Muster's servers listen on loopback of this machine.
      NetworkMode: 'host',
      LogConfig: { Type: 'none', Config: {} },
      ...(folder === undefined ? {} : { Mounts: [{ Type: 'bind', Source: folder, Target: FOLDER }] }),
    },
  });
}

const sink = (take: (piece: Buffer) => void): Writable =>
  new Writable({
    write: (piece: Buffer, _, done) => {
      take(piece);
      done();
    },
  });
