/** Lists of a platform with a million devices, beside a bare server that answers with bodies of the same size. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import type { Figure } from './figure.ts';
import { type Request, requestsPerSecond, sample } from './platform-load.ts';
import type { Answer, Instruction } from './platform-process.ts';

const DEVICES = 1_000_000;
const KEY = 'bench-key';
const ROUNDS = 20;
const ROUND_MS = 200;

export async function benchPlatform(devices = DEVICES): Promise<Figure[]> {
  const children: ChildProcess[] = [];
  const start = async (instruction: Instruction): Promise<{ child: ChildProcess; port: number; startMs: number }> => {
    const child = fork(fileURLToPath(new URL('platform-process.ts', import.meta.url)));
    children.push(child);
    const answer = await ask(child, instruction);
    if (!('port' in answer)) throw new Error('the server did not say where it listens');
    return { child, ...answer };
  };
  try {
    const platform = await start({ kind: 'platform', devices, key: KEY });
    const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION };
    const page = (query: string) => ({ port: platform.port, path: `/beta/devices${query}`, headers });
    const pages = {
      first: page('?limit=10&offset=0'),
      last: page(`?limit=10&offset=${devices - 10}`),
      filtered: page(`?limit=10&offset=${Math.floor(devices * 0.8)}&status=offline`),
      combined: page(`?limit=10&offset=${Math.floor(devices * 0.1)}&status=offline&agent_version=v0.9.0|v0.10.0`),
    };
    const bytes: number[] = [];
    for (const [name, request] of Object.entries(pages)) {
      const { status, body } = await sample(request);
      if (status !== 200 || JSON.parse(body).data.length !== 10) throw new Error(`the ${name} page is not one of ten`);
      bytes.push(body.length);
    }
    const floor = await start({ kind: 'floor', bytes: bytes[0] ?? 0 });
    const rates = await interleaved({
      floor: [{ ...pages.first, port: floor.port }],
      first: [pages.first],
      last: [pages.last],
      filtered: [pages.filtered],
      combined: [pages.combined],
      anywhere: scattered(devices).map((offset) => page(`?limit=10&offset=${offset}`)),
    });
    const memory = await ask(platform.child, { kind: 'memory' });
    const rss = 'rss' in memory ? memory.rss / 1e6 : Number.NaN;
    return [
      rate('platform: a page of 10 of 1,000,000 devices', rates.first, rates.floor, 0.7),
      rate('platform: pages of 10 scattered over all', rates.anywhere, rates.floor, 0.3),
      cost('platform: the last page against the first', rates.last, rates.first, 1.5),
      cost('platform: a filtered page far out against the first', rates.filtered, rates.first, 3),
      cost('platform: a page under two filters against the first', rates.combined, rates.first, 3),
      limit('platform: memory with 1,000,000 devices', rss, 1000, 'MB'),
      limit('platform: seeding 1,000,000 devices', platform.startMs / 1000, 60, 's'),
    ];
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** Rounds take turns, so that whatever else the machine does falls on all alike. The best of each: others only slow it. */
async function interleaved<K extends string>(requests: Record<K, Request[]>) {
  const names = Object.keys(requests) as K[];
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  for (const name of names) await requestsPerSecond(requests[name], ROUND_MS / 2);
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) measured[name].push(await requestsPerSecond(requests[name], ROUND_MS));
  }
  return Object.fromEntries(names.map((name) => [name, Math.max(...measured[name])])) as Record<K, number>;
}

/** Offsets all over the list, many more than are asked for in a round: most rows are rendered for the first time. */
function scattered(devices: number): number[] {
  const offsets: number[] = [];
  for (let offset = 0; offset + 10 <= devices; offset += 10) offsets.push(offset);
  // 7,919 is prime: neighbours are never asked for one after the other, and none is left out.
  return offsets.map((_, index) => offsets[(index * 7919) % offsets.length] ?? 0);
}

async function ask(child: ChildProcess, instruction: Instruction): Promise<Answer> {
  child.send(instruction);
  const [answer] = (await once(child, 'message')) as [Answer];
  return answer;
}

function rate(name: string, value: number, floor: number, goal: number): Figure {
  const ratio = value / floor;
  return { name, value, floor, ratio, goal: `≥ ${goal} × floor`, unit: 'requests/s', met: ratio >= goal };
}

/** Cost of a request is the inverse of its rate. */
function cost(name: string, value: number, first: number, goal: number): Figure {
  const ratio = first / value;
  return { name, value: 1e6 / value, floor: 1e6 / first, ratio, goal: `≤ ${goal} ×`, unit: 'µs', met: ratio <= goal };
}

const limit = (name: string, value: number, goal: number, unit: string): Figure => ({
  name,
  value,
  goal: `≤ ${goal} ${unit}`,
  unit,
  met: value <= goal,
});
