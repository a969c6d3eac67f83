/**
 * Misleading control APIs: a willing control accepts every call without effect; an unwilling control refuses, delays,
 * breaks or fakes some calls of a real control.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { CONTROL_CAPABILITIES, type ControlDeployment, type ControlInfo } from '../../harness/contract/control.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { type Random, random } from '../common/random.ts';
import { listenAt, type Place, type StandIn } from './null.ts';

/**
 * Claims every capability (`fixtures/control.md`), but leaves its event log and config files empty. Rejects with Node's
 * system error (e.g. EADDRINUSE) for an unusable address.
 */
export function willingControl(where: Place, directory: string): Promise<StandIn> {
  const info: ControlInfo = {
    capabilities: [...CONTROL_CAPABILITIES],
    retention: 1000,
    event_log: `${directory}/events.jsonl`,
    config_root: `${directory}/root`,
  };
  mkdirSync(`${directory}/root`, { recursive: true });
  writeFileSync(`${directory}/events.jsonl`, '');
  const deployments = new Map<string, Deployment>();
  let latest = 0;
  const routes: Readonly<Record<string, (given: ControlDeployment & { count: number }) => object>> = {
    'GET /': () => info,
    'POST /deployments': (wanted) => {
      latest += 1;
      const deployment = deploymentOf(`dpl_willing${deployments.size + 1}`, wanted);
      deployments.set(deployment.id, deployment);
      return deployment;
    },
    'POST /events': ({ count }) => {
      latest += count;
      return { first_id: latest - count + 1, last_id: latest };
    },
    'POST /compact': () => ({ earliest_id: Math.max(1, Math.ceil(latest / 2)), latest_id: latest }),
  };
  const server = http.createServer((request, response) => {
    text(request).then(
      (body) => {
        const asked = `${request.method} ${request.url}`;
        let answer = routes[asked]?.(body === '' ? {} : JSON.parse(body));
        const [, removed] = /^POST \/deployments\/([^/]+)\/remove$/.exec(asked) ?? [];
        if (removed !== undefined) {
          latest += 1;
          const known = deployments.get(removed) ?? deploymentOf(removed, {});
          answer = { ...known, status: 'archived', activity_status: 'archived', target_status: 'archived' };
        }
        response.writeHead(answer === undefined ? 204 : 200, { 'Content-Type': 'application/json' });
        response.end(answer && JSON.stringify(answer));
      },
      () => response.destroy(),
    );
  });
  return listenAt(server, where);
}

function deploymentOf(id: string, wanted: ControlDeployment): Deployment {
  const { activity_status = 'deployed', error_status = 'none' } = wanted;
  return {
    object: 'deployment',
    id,
    description: wanted.description ?? '',
    status: error_status === 'none' ? activity_status : error_status,
    activity_status,
    error_status,
    target_status: wanted.target_status ?? 'deployed',
    device_id: 'dvc_willing',
    release_id: wanted.release_id ?? 'rls_willing',
    created_at: new Date().toISOString(),
  };
}

/** Calls that an unwilling control may refuse; every control answers `GET /`. */
const CALLS = ['deploy', 'remove', 'publish', 'compact', 'stop', 'start'] as const;
type Call = (typeof CALLS)[number];

type Deed = 'forward' | 'late' | 'refuse' | 'fail' | 'garbage' | 'hang' | 'lie' | 'die' | 'miscount' | 'skip';

export interface UnwillingControl {
  name: string;
  summary: string;
  /** Matches the reason of a blocked check; undefined if the control need not block any check. */
  reason?: RegExp;
  /** `made`: number of earlier calls; `random` is seeded. */
  deed(call: Call, made: number, random: Random): Deed;
}

const only =
  (wanted: Call, deed: Deed) =>
  (call: Call): Deed =>
    call === wanted ? deed : 'forward';
const sometimes =
  (share: number, deed: Deed): UnwillingControl['deed'] =>
  (_call, _made, { next }) =>
    next() < share ? deed : 'forward';

const control = (name: string, summary: string, reason: RegExp, deed: UnwillingControl['deed']) => ({
  name,
  summary,
  reason,
  deed,
});

export const UNWILLING_CONTROLS: readonly UnwillingControl[] = [
  control('refuses-some', 'Control refuses one call in five.', /answered 409/, sometimes(0.2, 'refuse')),
  control('fails-sometimes', 'Control answers one call in ten with 500.', /answered 500/, sometimes(0.1, 'fail')),
  control(
    'answers-garbage',
    'Control answers one call in ten with half a JSON text.',
    /answered something that is not|without id/,
    sometimes(0.1, 'garbage'),
  ),
  { name: 'slow', summary: 'Control takes two seconds longer for each call.', deed: () => 'late' },
  control(
    'never-publishes',
    'Control never answers a request to publish.',
    /no whole answer within|not called/,
    only('publish', 'hang'),
  ),
  control(
    'never-starts-again',
    'Control answers every request to start the agent with 500.',
    /the agent was not started again: .*answered 500/,
    only('start', 'fail'),
  ),
  control('dies', 'Control ends after forty calls.', /control: .*(closed|cannot connect)/, (_call, made) =>
    made < 40 ? 'forward' : 'die',
  ),
  ...(['publish', 'deploy', 'remove', 'compact', 'stop'] as const).map((call) => ({
    name: `lies-about-${call}`,
    summary: `Control says yes to each request to ${call}, and does nothing.`,
    ...(call === 'remove' ? {} : { reason: /control.* said that/ }),
    deed: only(call, 'lie'),
  })),
  control(
    'names-ids-too-high',
    'Control names ids that are higher by one than those of the events that it published.',
    /control named the events .* and the log has/,
    only('publish', 'miscount'),
  ),
  control(
    'publishes-fewer',
    'Control publishes one event fewer than asked, and names the ids of these events.',
    /control named \d+ events/,
    only('publish', 'skip'),
  ),
  control(
    'names-an-earlier-log',
    'Control names a log that begins three events earlier than it does after a compaction.',
    /control said that the log begins with event/,
    only('compact', 'miscount'),
  ),
  control(
    'lies-sometimes',
    'Control says yes to one call in ten, and does nothing.',
    /control.* said that/,
    sometimes(0.1, 'lie'),
  ),
];

/** `behind`: socket of the real control API. Rejects with Node's system error for an unusable address. */
export async function unwillingControl({ deed }: UnwillingControl, behind: string, where: Place): Promise<StandIn> {
  const lies = new Lies();
  const chance = random(11);
  let made = 0;
  const server = http.createServer((request, response) => {
    const method = request.method ?? 'GET';
    const path = request.url ?? '/';
    const send = (status: number, body = ''): void =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
    const forward = async (body: string, change = (answer: string) => answer): Promise<void> => {
      const answer = await ask(behind, method, path, body);
      lies.learn(path, answer.text);
      send(answer.status, change(answer.text));
    };
    const deeds: Record<Deed, (body: string) => unknown> = {
      forward,
      late: (body) => delay(2000).then(() => forward(body)),
      refuse: () => send(409, '{"error":{"code":"unwilling","params":{},"message":"not now"}}'),
      fail: () => send(500, `Traceback (most recent call last):\nKeyError: '${path}'`),
      garbage: () => send(200, '{"id": "dpl_'),
      hang: () => {},
      miscount: (body) => forward(body, miscounted),
      skip: (body) => forward(JSON.stringify({ count: Math.max(1, Number(JSON.parse(body).count) - 1) })),
      lie: (body) => {
        const answer = lies.answer(path, body);
        send(path === '/stop' || path === '/start' ? 204 : 200, answer && JSON.stringify(answer));
      },
      die: () => {
        server.close();
        server.closeAllConnections();
      },
    };
    const call = callOf(path);
    text(request)
      .then((body) =>
        method === 'GET' || call === undefined ? forward(body) : deeds[deed(call, made++, chance)](body),
      )
      .catch(() => response.destroy());
  });
  return await listenAt(server, where);
}

const OFFSETS: Readonly<Record<string, number>> = { first_id: 1, last_id: 1, earliest_id: -3 };

function miscounted(answer: string): string {
  const ids = Object.entries<number>(JSON.parse(answer));
  return JSON.stringify(Object.fromEntries(ids.map(([name, id]) => [name, id + (OFFSETS[name] ?? 0)])));
}

function callOf(path: string): Call | undefined {
  if (path === '/deployments') return 'deploy';
  if (path === '/events') return 'publish';
  if (path.endsWith('/remove')) return 'remove';
  return CALLS.find((call) => path === `/${call}`);
}

class Lies {
  #latest = 0;
  #deployment: Partial<Deployment> = {};
  #made = 0;

  learn(path: string, answer: string): void {
    if (answer === '') return;
    const body = JSON.parse(answer) as { last_id?: number; latest_id?: number } & Partial<Deployment>;
    this.#latest = body.last_id ?? body.latest_id ?? this.#latest;
    if (path === '/deployments') this.#deployment = body;
  }

  answer(path: string, body: string): object | undefined {
    if (path === '/compact') return { earliest_id: this.#latest, latest_id: this.#latest };
    if (path === '/events') {
      const { count } = JSON.parse(body) as { count: number };
      this.#latest += count;
      return { first_id: this.#latest - count + 1, last_id: this.#latest };
    }
    if (path === '/deployments') {
      const wanted = JSON.parse(body) as Partial<Deployment>;
      const { activity_status = 'deployed', error_status = 'none', target_status = 'deployed' } = wanted;
      const status = error_status === 'none' ? activity_status : error_status;
      this.#made += 1;
      const id = `dpl_unwilling${this.#made}`;
      return { ...this.#deployment, id, status, activity_status, error_status, target_status };
    }
    const [, id] = /^\/deployments\/([^/]+)\/remove$/.exec(path) ?? [];
    return id === undefined ? undefined : { ...this.#deployment, id, status: 'archived', activity_status: 'archived' };
  }
}

function ask(socketPath: string, method: string, path: string, body: string) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = http.request({ socketPath, method, path, headers, agent: false }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 500, text: answer }), reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}
