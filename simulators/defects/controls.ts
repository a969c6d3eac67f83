/**
 * Misleading control APIs: a willing control accepts every call without effect, an unwilling control refuses, delays or
 * ignores calls.
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
 * Control API that claims every capability (`fixtures/control.md`), but leaves its event log and config files empty.
 * Rejects with Node's system error (e.g. EADDRINUSE) for an unusable address.
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
  const routes = routesOf(info);
  const server = http.createServer((request, response) => {
    text(request).then(
      (body) => {
        const answer = routes(`${request.method} ${request.url}`, body === '' ? {} : JSON.parse(body));
        response.writeHead(answer === undefined ? 204 : 200, { 'Content-Type': 'application/json' });
        response.end(answer && JSON.stringify(answer));
      },
      () => response.destroy(),
    );
  });
  return listenAt(server, where);
}

function routesOf(info: ControlInfo): (request: string, body: unknown) => object | undefined {
  const deployments = new Map<string, Deployment>();
  let latest = 0;
  return (request, body) => {
    const [, removed] = /^POST \/deployments\/([^/]+)\/remove$/.exec(request) ?? [];
    if (removed !== undefined) {
      latest += 1;
      const known = deployments.get(removed) ?? deploymentOf(removed, {});
      return { ...known, status: 'archived', activity_status: 'archived', target_status: 'archived' };
    }
    switch (request) {
      case 'GET /':
        return info;
      case 'POST /deployments': {
        latest += 1;
        const deployment = deploymentOf(`dpl_willing${deployments.size + 1}`, body as ControlDeployment);
        deployments.set(deployment.id, deployment);
        return deployment;
      }
      case 'POST /events': {
        const first = latest + 1;
        latest += (body as { count: number }).count;
        return { first_id: first, last_id: latest };
      }
      case 'POST /compact':
        return { earliest_id: Math.max(1, Math.ceil(latest / 2)), latest_id: latest };
      default:
        return undefined;
    }
  };
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
  /** Pattern that the reason of a blocked check must match; undefined for a control that is only slow. */
  reason?: RegExp;
  /** Decides what happens to a call. `made`: number of earlier calls; `random` is seeded. */
  deed(call: Call, made: number, random: Random): Deed;
}

const LATE_MS = 2000;
const SEED = 11;

const only =
  (wanted: Call, deed: Deed): UnwillingControl['deed'] =>
  (call) =>
    call === wanted ? deed : 'forward';
const sometimes =
  (share: number, deed: Deed): UnwillingControl['deed'] =>
  (_call, _made, { next }) =>
    next() < share ? deed : 'forward';

export const UNWILLING_CONTROLS: readonly UnwillingControl[] = [
  {
    name: 'refuses-some',
    summary: 'Control refuses one call in five.',
    reason: /answered 409/,
    deed: sometimes(0.2, 'refuse'),
  },
  {
    name: 'fails-sometimes',
    summary: 'Control answers one call in ten with 500.',
    reason: /answered 500/,
    deed: sometimes(0.1, 'fail'),
  },
  {
    name: 'answers-garbage',
    summary: 'Control answers one call in ten with half a JSON text.',
    reason: /answered something that is not|without id/,
    deed: sometimes(0.1, 'garbage'),
  },
  { name: 'slow', summary: 'Control takes two seconds longer for each call.', deed: () => 'late' },
  {
    name: 'never-publishes',
    summary: 'Control never answers a request to publish.',
    reason: /no whole answer within|not called/,
    deed: only('publish', 'hang'),
  },
  {
    name: 'never-starts-again',
    summary: 'Control answers every request to start the agent with 500.',
    reason: /the agent was not started again: .*answered 500/,
    deed: only('start', 'fail'),
  },
  {
    name: 'dies',
    summary: 'Control ends after forty calls.',
    reason: /control: .*(closed|cannot connect)/,
    deed: (_call, made) => (made < 40 ? 'forward' : 'die'),
  },
  ...(['publish', 'deploy', 'remove', 'compact', 'stop'] as const).map((call) => ({
    name: `lies-about-${call}`,
    summary: `Control says yes to each request to ${call}, and does nothing.`,
    ...(call === 'remove' ? {} : { reason: /control.* said that/ }),
    deed: only(call, 'lie'),
  })),
  {
    name: 'names-ids-too-high',
    summary: 'Control names ids that are higher by one than those of the events that it published.',
    reason: /control named the events .* and the log has/,
    deed: only('publish', 'miscount'),
  },
  {
    name: 'publishes-fewer',
    summary: 'Control publishes one event fewer than asked, and names the ids of these events.',
    reason: /control named \d+ events/,
    deed: only('publish', 'skip'),
  },
  {
    name: 'names-an-earlier-log',
    summary: 'Control names a log that begins three events earlier than it does after a compaction.',
    reason: /control said that the log begins with event/,
    deed: only('compact', 'miscount'),
  },
  {
    name: 'lies-sometimes',
    summary: 'Control says yes to one call in ten, and does nothing.',
    reason: /control.* said that/,
    deed: sometimes(0.1, 'lie'),
  },
];

/**
 * Serves an unwilling control in front of the real control API on the socket `behind`. Rejects with Node's system error
 * (e.g. EADDRINUSE) for an unusable address.
 */
export async function unwillingControl({ deed }: UnwillingControl, behind: string, where: Place): Promise<StandIn> {
  const lies = new Lies();
  const chance = random(SEED);
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
      late: (body) => delay(LATE_MS).then(() => forward(body)),
      refuse: () => send(409, '{"error":{"code":"unwilling","params":{},"message":"not now"}}'),
      fail: () => send(500),
      garbage: () => send(200, '{"id": "dpl_'),
      hang: () => {},
      miscount: (body) => forward(body, miscounted),
      skip: (body) => forward(JSON.stringify({ count: Math.max(1, Number(JSON.parse(body).count) - 1) })),
      lie: (body) => send(path === '/stop' || path === '/start' ? 204 : 200, lies.answer(path, body)),
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

const OFFSETS = { first_id: 1, last_id: 1, earliest_id: -3 };

const miscounted = (answer: string): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries<number>(JSON.parse(answer)).map(([name, id]) => [
        name,
        id + (OFFSETS[name as keyof typeof OFFSETS] ?? 0),
      ]),
    ),
  );

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

  answer(path: string, body: string): string {
    if (path === '/events') return JSON.stringify(this.#published((JSON.parse(body) as { count: number }).count));
    if (path === '/compact') return JSON.stringify({ earliest_id: this.#latest, latest_id: this.#latest });
    if (path === '/deployments') return JSON.stringify(this.#deployed(JSON.parse(body) as Partial<Deployment>));
    const [, id] = /^\/deployments\/([^/]+)\/remove$/.exec(path) ?? [];
    return id === undefined
      ? ''
      : JSON.stringify({ ...this.#deployment, id, status: 'archived', activity_status: 'archived' });
  }

  #published(count: number): object {
    const first_id = this.#latest + 1;
    this.#latest += count;
    return { first_id, last_id: this.#latest };
  }

  #deployed(wanted: Partial<Deployment>): object {
    const { activity_status = 'deployed', error_status = 'none', target_status = 'deployed' } = wanted;
    const status = error_status === 'none' ? activity_status : error_status;
    this.#made += 1;
    const id = `dpl_unwilling${this.#made}`;
    return { ...this.#deployment, id, status, activity_status, error_status, target_status };
  }
}

function ask(
  socketPath: string,
  method: string,
  path: string,
  body: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = http.request({ socketPath, method, path, headers, agent: false }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 500, text: answer }), reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}
