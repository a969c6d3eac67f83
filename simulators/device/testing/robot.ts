/** A simulated device in a temporary directory, with short ways to ask it something. */
import http from 'node:http';
import { scratch } from '../../common/testing/scratch.ts';
import { type DeviceOptions, type SimulatedDevice, simulateDevice } from '../index.ts';
import { EventStream } from './stream.ts';

export { type Scratch, scratch } from '../../common/testing/scratch.ts';

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  /** The body, when it is JSON. */
  json: unknown;
}

export interface Robot extends AsyncDisposable {
  readonly device: SimulatedDevice;
  readonly dir: string;
  readonly socket: string;
  /** One request over the socket; `path` is taken below `/v0.2` unless it begins with `//`. */
  ask(path: string, options?: { method?: string; headers?: http.OutgoingHttpHeaders }): Promise<Answer>;
  /** Opens an event stream; closed with the robot. */
  listen(query?: string, headers?: http.OutgoingHttpHeaders): Promise<EventStream>;
}

/** Starts a device; it and its streams end when it is disposed of. */
export async function robot(options: Partial<DeviceOptions> = {}, streamTimeoutMs?: number): Promise<Robot> {
  const home = scratch();
  const dir = `${home.path}/robot`;
  const socket = `${home.path}/agent.sock`;
  const device = await simulateDevice({ dir, socket, seed: 'test', ...options });
  const streams: EventStream[] = [];
  return {
    device,
    dir,
    socket,
    ask: (path, asked) => ask(socket, path, asked),
    listen: async (query = '', headers = {}) => {
      const stream = await EventStream.open(socket, query, headers, streamTimeoutMs);
      streams.push(stream);
      return stream;
    },
    [Symbol.asyncDispose]: async () => {
      for (const stream of streams) stream.close();
      await device[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

/** One request over a socket; `path` as in `Robot.ask`. */
export function ask(
  socketPath: string,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: http.OutgoingHttpHeaders } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const at = path.startsWith('//') ? path.slice(1) : `/v0.2${path}`;
    const request = http.request({ socketPath, path: at, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.once('error', reject);
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
      });
    });
    request.once('error', reject);
    request.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
