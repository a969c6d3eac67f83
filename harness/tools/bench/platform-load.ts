/** Requests per second of a server, as fast as it answers: raw sockets, so that the generator costs less than any server. */
import { connect, type Socket } from 'node:net';

export interface Request {
  port: number;
  path: string;
  headers?: Record<string, string>;
}

const CONNECTIONS = 16;
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ontent-length: ');

function bytesOf({ path, headers = {} }: Request): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`);
}

/** One request after the other on one connection. */
class Lane {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #received = 0;
  #expected = Number.POSITIVE_INFINITY;
  #settle: { resolve(answer: Buffer): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the server closed the connection')));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  static open(port: number): Promise<Lane> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => {
        socket.off('error', reject);
        resolve(new Lane(socket));
      });
      socket.once('error', reject);
    });
  }

  request(bytes: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === Number.POSITIVE_INFINITY) {
      const whole = Buffer.concat(this.#chunks);
      const end = whole.indexOf(HEAD_END);
      if (end === -1) return;
      const at = whole.indexOf(LENGTH) + LENGTH.length;
      this.#expected = end + HEAD_END.length + Number.parseInt(whole.toString('latin1', at, at + 12), 10);
    }
    if (this.#received < this.#expected) return;
    const answer = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#received = 0;
    this.#expected = Number.POSITIVE_INFINITY;
    this.#settle?.resolve(answer);
  }
}

export async function sample(request: Request): Promise<{ status: number; body: string }> {
  const lane = await Lane.open(request.port);
  const answer = await lane.request(bytesOf(request)).finally(() => lane.close());
  const body = answer.subarray(answer.indexOf(HEAD_END) + HEAD_END.length).toString();
  return { status: Number(answer.toString('latin1', 9, 12)), body };
}

/** Goes through the requests, again from the first after the last, on several connections. */
export async function requestsPerSecond(requests: readonly Request[], milliseconds: number): Promise<number> {
  const encoded = requests.map(bytesOf);
  const lanes = await Promise.all(Array.from({ length: CONNECTIONS }, () => Lane.open(requests[0]?.port ?? 0)));
  let next = 0;
  let answered = 0;
  const start = performance.now();
  const end = start + milliseconds;
  const run = async (lane: Lane) => {
    while (performance.now() < end) {
      await lane.request(encoded[next++ % encoded.length] as Buffer);
      answered += 1;
    }
  };
  await Promise.all(lanes.map(run)).finally(() => {
    for (const lane of lanes) lane.close();
  });
  return (answered * 1000) / (performance.now() - start);
}
