/** Measures `muster check device --fast`, compared with a Node program that repeats the requests that it sent. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, METHODS, request } from 'node:http';
import { join } from 'node:path';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Traffic } from '../../watch/traffic.ts';
import { atMost, type Figure, inTurns, median, timesFloor } from '../measure/figure.ts';
import { cpuSeconds, peakUntilEnd, serveTask, startMuster, Task, untilEnd } from '../measure/process.ts';

/** `body` and `answer`: bytes. */
type Sent = Record<'method' | 'path', string> & Record<'body' | 'answer', number>;

export async function benchCheck(): Promise<Figure[]> {
  using home = scratch();
  const at = (name: string): string => join(home.path, name);
  const start = (...words: string[]) => startMuster(words, { XDG_STATE_HOME: home.path });
  await using device = start('simulate', 'device', '--socket', at('r'), '--control', at('c'), '--dir', at('robot'));
  await device.ready();
  const peaks: number[] = [];
  const check = async (socket: string): Promise<void> => {
    const checking = start('check', 'device', '--socket', socket, '--control', at('c'), '--fast', '--seed', '1');
    peaks.push(await peakUntilEnd(checking));
    const { code, stderr } = await checking.ended;
    if (code !== 0) throw new Error(`check device ended with exit code ${code}: ${stderr}`);
  };
  {
    await using watch = start('watch', 'device', '--socket', at('r'), '--listen', at('w'), '--record', at('seen'));
    await watch.ready();
    await check(at('w'));
  }
  const sent = requestsIn(at('seen'));
  const { own, bare } = await inTurns(3, {
    own: () => untilEnd(() => check(at('r'))),
    bare: (round) => replaySeconds(sent, at(`bare${round}`)),
  });
  const bytes = sent.reduce((sum, { answer }) => sum + answer, 0) / 1e6;
  const floor = `a Node that sends its ${sent.length} requests one by one and reads as much, ${bytes.toFixed(1)} MB`;
  const seconds = timesFloor('muster check device --fast', median(own), median(bare), 3, 's of processor time');
  return [
    atMost('muster check device --fast: peak memory (RSS)', median(peaks.slice(1)) / 1e6, 150, 'MB'),
    { ...seconds, goal: `${seconds.goal}: ${floor}` },
  ];
}

function requestsIn(recording: string): Sent[] {
  const sent = new Map<number, Sent>();
  for (const line of readFileSync(recording, 'utf8').trim().split('\n').slice(1)) {
    const seen = JSON.parse(line) as Traffic;
    if (seen.kind === 'request')
      sent.set(seen.exchange, { method: seen.method, path: seen.target, body: 0, answer: 0 });
    const one = 'exchange' in seen ? sent.get(seen.exchange) : undefined;
    if (one === undefined) continue;
    if (seen.kind === 'asked') one.body = seen.body?.size ?? 0;
    if (seen.kind === 'over') one.answer += seen.body?.size ?? 0;
    if (seen.kind === 'frame') one.answer += seen.fields.reduce((sum, field) => sum + field.join(': ').length + 1, 1);
  }
  return [...sent.values()].filter(({ method, path }) => METHODS.includes(method) && /^\/[!-~]*$/.test(path));
}

async function replaySeconds(sent: readonly Sent[], socket: string): Promise<number> {
  await using server = new Task<typeof tasks>(import.meta.url);
  await server.call('serve', socket);
  await using client = new Task<typeof tasks>(import.meta.url);
  await client.call('send', sent, socket);
  return cpuSeconds([client.pid]);
}

const tasks = {
  serve: async (path: string): Promise<void> => {
    const server = createServer((asked, response) => {
      asked.resume().once('end', () => response.end(Buffer.alloc(Number(asked.headers['x-bytes']), 'x')));
    });
    await once(server.listen(path), 'listening');
  },

  send: async (sent: readonly Sent[], socketPath: string): Promise<void> => {
    const agent = new Agent({ keepAlive: true });
    for (const { method, path, body, answer } of sent) {
      const headers = { 'x-bytes': answer, 'content-length': body };
      const asked = request({ socketPath, agent, method, path, headers }).end(Buffer.alloc(body, 'x'));
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
    }
    agent.destroy();
  },
};

if (import.meta.main) serveTask(tasks);
