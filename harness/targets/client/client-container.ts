/**
 * `--image IMAGE` of a client: a container for each situation. It has the network of this machine, since a situation is served on
 * loopback, and the folder of the situation.
 */
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { type Duplex, Writable } from 'node:stream';
import { containerRuntime, type Docker, type DockerContainer, digestOfImage, reasonOf } from '../launch/runtime.ts';
import { OutputTail, type Ran, StartFailed } from '../launch/started.ts';
import type { ClientEars, ClientRun, ClientSituation } from '../opened.ts';
import { complaintsIn, Lines } from './lines.ts';

/** Where a container has the folder of its situation. */
const FOLDER = '/run/muster';

/** An image that can be started. */
export interface ClientImage {
  readonly ran: Ran;
  /** Never throws: a container that cannot be started ends at once. */
  start(situation: ClientSituation, ears: ClientEars): ClientRun;
}

/** Finds the image, and fetches it where it is not there. Throws StartFailed. */
export async function findClientImage(image: string, notify: (text: string) => void): Promise<ClientImage> {
  const { testcontainers, client } = await containerRuntime('run the client without a container: --command LINE');
  const { host } = client.info.containerRuntime;
  if (!(await isHere(host))) {
    throw new StartFailed(
      `--image ${image}: Docker runs on ${host}, and a client is served on loopback of this machine. Use Docker on this machine, or run the client without a container: --command LINE`,
    );
  }
  const name = testcontainers.ImageName.fromString(image);
  const { Id, RepoDigests } = await client.image
    .pull(name)
    .then(() => client.image.inspect(name))
    .catch((error: unknown) => {
      const why = `not on this machine, and it cannot be fetched (${reasonOf(error)})`;
      throw new StartFailed(`--image ${image}: ${why}`, { cause: error });
    });
  // It removes what is left when Muster itself is killed.
  const labels = await testcontainers.getReaper(client).then(
    ({ sessionId }) => ({ [testcontainers.LABEL_TESTCONTAINERS_SESSION_ID]: sessionId }),
    () => {
      notify('testcontainers’ reaper cannot be started: going on without it');
      return {};
    },
  );
  const docker = client.container.dockerode;
  return {
    ran: { of: 'image', digest: digestOfImage({ Id, RepoDigests }) },
    // By its id: the name may lead to another image before the run is over.
    start: (situation, ears) => new ContainerRun({ docker, image: Id, labels, situation }, ears),
  };
}

/** Whether a host name or address is one of this machine: then it can be listened on. Those of networks at rest are listed nowhere. */
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

interface Plan {
  docker: Docker;
  image: string;
  labels: Readonly<Record<string, string>>;
  situation: ClientSituation;
}

class ContainerRun implements ClientRun {
  readonly #stderr = new OutputTail();
  readonly #created: Promise<DockerContainer>;
  readonly #started: Promise<{ container: DockerContainer; read: Promise<unknown> }>;
  readonly #over: Promise<void>;
  #how: string | undefined;
  #code: number | undefined;
  #stopping: Promise<void> | undefined;
  #output: Duplex | undefined;

  constructor(plan: Plan, { line, ended }: ClientEars) {
    const lines = new Lines(line);
    this.#created = create(plan);
    this.#started = this.#start(lines);
    this.#over = this.#run()
      .catch((error: unknown) => {
        this.#how = `could not be started (${reasonOf(error)})`;
      })
      .then(() => {
        lines.end();
        ended();
      });
  }

  get how(): string | undefined {
    if (this.#how === undefined || this.#stopping !== undefined) return undefined;
    return `${this.#how}${complaintsIn(this.#stderr.text)}`;
  }

  get code(): number | undefined {
    return this.#code;
  }

  get diagnostics(): string {
    return this.#stderr.text;
  }

  /** A container is removed at once: nothing that it started outlives it. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(lines: Lines): Promise<{ container: DockerContainer; read: Promise<unknown> }> {
    const container = await this.#created;
    // From before its start, so that nothing is missed; and never kept by Docker.
    const output = (await container.attach({ stream: true, stdout: true, stderr: true })) as Duplex;
    this.#output = output;
    const read = once(output, 'close').catch(() => {});
    container.modem.demuxStream(
      output,
      sink((piece) => lines.add(piece)),
      sink((piece) => this.#stderr.add(piece)),
    );
    if (this.#stopping === undefined) await container.start();
    return { container, read };
  }

  async #run(): Promise<void> {
    const { container, read } = await this.#started;
    if (this.#stopping !== undefined) return;
    const { StatusCode: code } = (await container.wait()) as { StatusCode: number };
    await read;
    this.#code = code;
    this.#how = `ended with exit code ${code}`;
  }

  async #stop(): Promise<void> {
    // What is removed while Docker starts it may go on, as a container that nobody can remove.
    await Promise.allSettled([this.#started]);
    // One that could not be created, or is gone, needs no removal.
    await this.#created.then((container) => container.remove({ force: true, v: true })).catch(() => {});
    // Docker never ends that of a container which never ran, and it would keep this process alive.
    this.#output?.destroy();
    await this.#over;
  }
}

function create({ docker, image, labels, situation: { variables, folder } }: Plan): Promise<DockerContainer> {
  // The user of the image is not the one that made it.
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
