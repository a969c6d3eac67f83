/**
 * Measures throughput and added latency of `muster watch`, compared with nginx, HAProxy and a bare relay in Node.
 * Needs the Debian packages nginx, haproxy and wrk.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import { connect, createServer as createPlain } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { closedPort } from '../../common/testing/servers.ts';
import { poll } from '../../common/waiting.ts';
import { DEPLOYMENT } from '../../contract/client.ts';
import { accepts } from '../../targets/transports/index.ts';
import { atMost, type Figure, figureAgainstFloor, inTurns, median } from '../measure/figure.ts';
import { listenAnywhere, serveTask, startMuster, Task } from '../measure/process.ts';

const ROUNDS = 3;
const CONNECTIONS = 50;
const STREAMS = 1000;
const SECONDS = 4;
const PATH = '/v0.2/deployments/current';

export async function benchWatch(): Promise<Figure[]> {
  return [...(await throughput()), await latency()];
}

async function throughput(): Promise<Figure[]> {
  using home = scratch();
  const [origin, other, third] = await Promise.all([closedPort(), closedPort(), closedPort()]);
  const at = (name: string): string => join(home.path, name);
  const body = JSON.stringify(DEPLOYMENT);
  const kept = 'proxy_http_version 1.1; proxy_set_header Connection "";';
  writeFileSync(at('haproxy'), haproxy(origin, third));
  const started = [
    nginx(
      at('origin'),
      `server { listen 127.0.0.1:${origin}; location / {
    default_type application/json; return 200 '${body}'; } }`,
    ),
    nginx(
      at('nginx'),
      `upstream u { server 127.0.0.1:${origin}; keepalive 100;
    keepalive_requests 1000000000; }
    server { listen 127.0.0.1:${other}; location / { proxy_pass http://u; ${kept} } }`,
    ),
    spawn('haproxy', ['-f', at('haproxy')]),
  ];
  await using watch = watching(origin);
  await using relay = new Task<typeof tasks>(import.meta.url);
  try {
    const bare = await relay.call('relay', origin);
    const { url } = await watch.ready<{ url: string }>();
    const port = Number(new URL(url).port);
    await Promise.all([origin, other, third, port].map(untilOpen));
    const taken = await inTurns(ROUNDS, {
      nginx: () => requestsPerSecond(other),
      haproxy: () => requestsPerSecond(third),
      bare: () => requestsPerSecond(bare),
      watch: () => requestsPerSecond(port),
    });
    const through = median(taken.watch);
    const beside = (name: string, floor: readonly number[]): Figure => ({
      ...figureAgainstFloor(name, through, median(floor), 0.9, 'requests/s'),
      why: `a bare relay of Node: ${Math.round(median(taken.bare)).toLocaleString('en')} requests/s`,
    });
    return [
      beside('muster watch: requests through it, floor nginx', taken.nginx),
      beside('the same, floor HAProxy', taken.haproxy),
    ];
  } finally {
    await Promise.all(started.map(end));
  }
}

const watching = (origin: number): ReturnType<typeof startMuster> =>
  startMuster(['watch', 'device', '--url', `http://127.0.0.1:${origin}`, '--listen', '0']);

function nginx(file: string, http: string): ChildProcess {
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${file}.pid;
error_log ${file}.log; events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000; ${http} }\n`,
  );
  return spawn('nginx', ['-c', file]);
}

const haproxy = (origin: number, port: number): string => `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
listen l
  bind 127.0.0.1:${port}
  server s 127.0.0.1:${origin}
`;

async function requestsPerSecond(port: number): Promise<number> {
  const words = ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, `http://127.0.0.1:${port}${PATH}`];
  const { stdout } = await promisify(execFile)('wrk', words);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
}

async function latency(): Promise<Figure> {
  await using server = new Task<typeof tasks>(import.meta.url);
  const origin = await server.call('serve');
  await using relay = new Task<typeof tasks>(import.meta.url);
  const bare = await slowest(origin, await relay.call('relay', origin));
  await using watch = watching(origin);
  const { url } = await watch.ready<{ url: string }>();
  const { direct, through } = await slowest(origin, Number(new URL(url).port));
  const why =
    `${through.toFixed(2)} ms through it, ${direct.toFixed(2)} ms without; ` +
    `a bare relay of Node adds ${(bare.through - bare.direct).toFixed(2)} ms`;
  const name = `muster watch: added to p99 of 1,000 requests/s beside ${STREAMS} streams`;
  const figure = atMost(name, through - direct, 1, 'ms', { why });
  // Above 3 ms of direct latency, the machine is too busy to show small additions.
  if (direct <= 3) return figure;
  return { ...figure, value: Number.NaN, met: false, why: `this machine is too busy to tell: ${why}` };
}

async function slowest(origin: number, port: number): Promise<{ direct: number; through: number }> {
  await using client = new Task<typeof tasks>(import.meta.url);
  await client.call('follow', port);
  const taken = await inTurns(ROUNDS, {
    direct: () => client.call('slowest', origin),
    through: () => client.call('slowest', port),
  });
  return { direct: median(taken.direct), through: median(taken.through) };
}

const tasks = {
  async serve(): Promise<number> {
    const body = JSON.stringify(DEPLOYMENT);
    const server = createServer((request, response) => {
      if (request.url !== '/v0.2/events') return void response.setHeader('content-type', 'application/json').end(body);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      // Heartbeats start with their stream, as in agents.
      const beat = setInterval(() => response.write(': heartbeat\n\n'), 1000);
      response.once('close', () => clearInterval(beat));
    });
    return await listenAnywhere(server, 4096);
  },

  async relay(to: number): Promise<number> {
    const half = { allowHalfOpen: true, noDelay: true };
    const server = createPlain(half, (client) => {
      const other = connect({ ...half, port: to, host: '127.0.0.1' });
      for (const [from, sink] of [
        [client, other],
        [other, client],
      ] as const) {
        from.on('data', (piece) => {
          if (!sink.write(piece)) from.pause();
        });
        sink.on('drain', () => from.resume());
        from.on('error', () => sink.destroy()).once('end', () => sink.end());
      }
    });
    return await listenAnywhere(server, 4096);
  },

  async follow(port: number): Promise<void> {
    for (let count = 0; count < STREAMS; count += 1) {
      const request = get({ port, host: '127.0.0.1', path: '/v0.2/events', agent: false });
      const [response] = await once(request, 'response');
      response.resume();
      // Spreads the heartbeats of the streams over a second.
      await wait(1);
    }
  },

  async slowest(port: number): Promise<number> {
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const took: number[] = [];
    const due = SECONDS * 1000;
    const started = performance.now();
    await new Promise<void>((resolve) => {
      const ask = (): void => {
        const began = performance.now();
        get({ port, host: '127.0.0.1', path: PATH, agent }, (response) => {
          response.resume().once('end', () => {
            took.push(performance.now() - began);
            if (took.length === due) resolve();
          });
        });
      };
      let sent = 0;
      const timer = setInterval(() => {
        for (; sent < Math.min(due, performance.now() - started); sent += 1) ask();
        if (sent === due) clearInterval(timer);
      }, 1);
    });
    agent.destroy();
    return took.toSorted((a, b) => a - b)[Math.floor(due * 0.99)] ?? 0;
  },
};

if (import.meta.main) serveTask(tasks);

function untilOpen(port: number): Promise<true> {
  const look = async () => (await accepts({ host: '127.0.0.1', port })) || undefined;
  return poll(`port ${port} to open`, look, { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: 20 });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
