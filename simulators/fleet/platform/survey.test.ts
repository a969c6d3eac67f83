import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { PreflightError, UnreachableError } from '../run/errors.ts';
import type { Phase, UplinkKind } from '../scenario/scenario.ts';
import type { PlatformAddress } from './client.ts';
import { ROUTES_FILE, routesText, withRoutes } from './routes.ts';
import { type SurveyOptions, surveyPlatform } from './survey.ts';

interface Asked {
  version: unknown;
  query: URLSearchParams;
  body: Record<string, unknown>;
}
type Answer = [status: number, body: unknown, headers?: Record<string, string>];
/** Answers by method and path, e.g. `GET /devices`; `*` matches one segment. All other requests get 404. */
type Routes = Record<string, (asked: Asked) => Answer>;

const listOf =
  (items: readonly object[]) =>
  ({ query }: Asked): Answer => {
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))];
    const data = items.slice(offset, offset + limit);
    return [200, { object: 'list', limit, offset, has_more: offset + limit < items.length, data }];
  };
const devices = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => ({ id: `dvc_${n}`, name: `d${n}` }));
const deployed = { target_status: 'deployed', created_at: '2026-09-01T08:00:00Z' };
const deployments = devices(3).map((_, n) => ({ id: `dpl_${n}`, device_id: `dvc_${n}`, ...deployed }));

const PLAIN: Routes = {
  'GET /devices': listOf(devices(3)),
  'GET /deployments': listOf(deployments),
  'GET /releases': listOf([{ id: 'rls_1' }]),
  'POST /devices/*/ping': () => [200, { code: 'success', round_trip_nanos: 1 }],
};

interface Asking extends Partial<SurveyOptions>, Pick<PlatformAddress, 'apiVersion'> {
  uplink: UplinkKind;
  phase?: Partial<Phase>;
}

async function surveyed(routes: Routes, { uplink, phase = {}, apiVersion, ...more }: Asking) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://x');
    const line = `${request.method} ${pathname}`;
    asked.push(line);
    const body = JSON.parse((await text(request)) || '{}');
    const sent = { version: request.headers['service-version'], query, body };
    const fits = (route: string): boolean => new RegExp(`^${route.replaceAll('*', '[^/]+')}$`).test(line);
    const [, answer] = Object.entries(routes).find(([route]) => fits(route)) ?? [];
    const [status, answered, headers] = answer?.(sent) ?? [404, {}];
    response.writeHead(status, headers).end(JSON.stringify(answered));
  });
  const { url } = await served(server);
  const { offer, notes } = await surveyPlatform({
    address: { url, agentUrl: url, apiKey: 'key', ...(apiVersion && { apiVersion }) },
    scenario: { uplink, phases: [{ do: 'ramp', over: '0s' }, { do: 'hold', for: '1s', ...phase } as Phase] },
    robots: 3,
    namePrefix: 'robot',
    first: 0,
    signal: new AbortController().signal,
    ...more,
  });
  return { offer, notes, asked };
}

const lackingOf = async (...args: Parameters<typeof surveyed>): Promise<string> => {
  const error = await surveyed(...args).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PreflightError);
  return (error as Error).message;
};

it('the survey doubts the base URL only where every route is answered 404', async () => {
  const all = { uplink: 'calls', phase: { lists: '1/s', ping: '1/s' } } as const;
  expect(await lackingOf({}, all)).toMatch(/every route was answered 404: is --platform right\?/);
  expect(await lackingOf({ 'GET /devices': () => [403, {}] }, all)).not.toContain('is --platform');
});

describe('preflight of robots that call', () => {
  const all = { uplink: 'calls', phase: { lists: '1/s', reads: '1/s', expands: '1/s', ping: '1/s' } } as const;

  it('accepts the routes of the specification, and notes the replacement of others', async () => {
    const { offer, notes } = await surveyed(PLAIN, all);
    expect(offer).toEqual({ devices: ['dvc_0', 'dvc_1', 'dvc_2'], readsPages: true, expand: 'total_count' });
    expect(notes).toEqual([
      'GET /devices/{device_id} was answered 404; instead: a page of one, ?limit=1',
      expect.stringMatching(/^GET \/devices\?expand=current_deployment was not answered .*; instead: expand=total_/),
    ]);
  });

  it('uses every available route', async () => {
    const whole = devices(3).map((device) => ({ ...device, current_deployment: null }));
    const routes = { ...PLAIN, 'GET /devices': listOf(whole), 'GET /devices/*': (): Answer => [200, { id: 'dvc_0' }] };
    const { offer, notes } = await surveyed(routes, all);
    expect(offer).toEqual({ devices: ['dvc_0', 'dvc_1', 'dvc_2'] });
    expect(notes).toEqual([]);
  });

  it('requests only the routes that the scenario needs', async () => {
    const { asked } = await surveyed(PLAIN, { uplink: 'calls', phase: { lists: '1/s' } });
    expect(new Set(asked)).toEqual(new Set(['GET /devices']));
  });

  it('finds a device for each robot over several pages, then stops', async () => {
    const routes = { 'GET /devices': listOf(devices(1000)) };
    const { offer, asked } = await surveyed(routes, { uplink: 'calls', robots: 250 });
    expect(offer.devices).toHaveLength(250);
    expect(asked).toHaveLength(1 + 3);
  });

  it.each([400, 408, 409, 410, 412, 422, 504])(
    'accepts a ping that ends with %i as a silent device',
    async (status) => {
      const routes: Routes = { ...PLAIN, 'POST /devices/*/ping': () => [status, {}] };
      expect((await surveyed(routes, { uplink: 'calls', phase: { ping: '1/s' } })).notes).toEqual([]);
    },
  );

  it('refuses a scenario with missing routes, and names each with its remedy', async () => {
    const message = await lackingOf({ 'GET /devices': () => [403, {}] }, all);
    expect(message).toMatch(/^--platform: the platform lacks what robots with uplink calls and this scenario need:\n/);
    expect(message).toContain('GET /devices was answered 403 (the key lacks a scope); instead: --devices FILE names');
    const ping = await lackingOf({ 'GET /devices': listOf(devices(1)) }, all);
    expect(ping.split('\n').slice(1)).toEqual([
      '  POST /devices/{device_id}/ping was answered 404; instead: ping is left out of the scenario',
    ]);
    expect(await lackingOf({ 'GET /devices': listOf([]) }, all)).toContain('GET /devices has no devices; instead: ');
  });

  it('sends the requested version, and names the option where it is refused', async () => {
    const routes: Routes = {
      'GET /devices': (asked) => (asked.version === '2026-05-06.rainier' ? listOf(devices(1))(asked) : [400, {}]),
    };
    expect(await lackingOf(routes, { uplink: 'calls' })).toContain('was answered 400 (--api-version names an older');
    const { offer } = await surveyed(routes, { uplink: 'calls', apiVersion: '2026-05-06.rainier' });
    expect(offer.devices).toEqual(['dvc_0']);
  });

  it('needs no list for named devices', async () => {
    const named = { uplink: 'calls', devices: ['dvc_a'], phase: { ping: '1/s' } } as const;
    const ping: Routes = { 'POST /devices/dvc_a/ping': () => [200, { code: 'timeout' }] };
    const { offer, notes } = await surveyed(ping, named);
    expect(offer).toEqual({ devices: ['dvc_a'] });
    expect(notes).toEqual(['devices to stand for: 1, shared by 3 robots']);
    const both = { ...named, phase: { ...named.phase, lists: '1/s', expands: '1/s' } };
    expect(await lackingOf(ping, both)).toContain('lists, reads and expands are left out of the scenario');
  });
});

describe('preflight of robots that poll', () => {
  const rollout = { uplink: 'polling', phase: { do: 'rollout', over: '1s' } as Partial<Phase> } as const;
  const created = { id: 'dpl_9', target_status: 'staged' };

  it('takes one existing device per robot where none can be created', async () => {
    const { offer, notes } = await surveyed(PLAIN, { uplink: 'polling' });
    expect(offer.devices).toEqual(['dvc_0', 'dvc_1', 'dvc_2']);
    expect(notes.map((note) => note.replace(/ (was|lists) .*/, ''))).toEqual([
      'GET /devices?name=NAME',
      'POST /devices',
      'GET /deployments?device_id=ID&activity_status=STATUS&order_by=FIELD',
    ]);
    expect(await lackingOf(PLAIN, { uplink: 'polling', robots: 4 })).toContain(
      'has 3 devices, and robots that poll need one each; accepted: --robots 3 or fewer, or --uplink calls',
    );
  });

  it('creates the device of the first robot where possible', async () => {
    const routes: Routes = { ...PLAIN, 'POST /devices': ({ body }) => [201, { id: `dvc_of_${body['name']}` }] };
    const { offer, notes } = await surveyed(routes, { uplink: 'polling', first: 2 });
    expect(offer).toEqual({});
    expect(notes.join()).not.toContain('POST /devices');
  });

  it('deploys an existing release with accepted fields, and robots take staged deployments', async () => {
    const bodies: object[] = [];
    const fields = ['description', 'device_id', 'release_id'];
    const routes: Routes = {
      ...PLAIN,
      'POST /deployments': ({ body }) => {
        bodies.push(body);
        return Object.keys(body).every((name) => fields.includes(name)) ? [200, created] : [400, {}];
      },
    };
    const { offer, notes } = await surveyed(routes, rollout);
    expect(offer).toMatchObject({ releaseId: 'rls_1', plain: true, takesStaged: true });
    expect(bodies.at(-1)).toEqual({ description: 'Preflight', device_id: 'dvc_0', release_id: 'rls_1' });
    expect(notes.at(-1)).toMatch(/^POST \/deployments\/\{deployment_id\}\/deploy was answered 404; instead: robots/);
  });

  it('deploys a staged deployment by a second request where possible', async () => {
    const routes: Routes = {
      ...PLAIN,
      'POST /deployments': () => [200, created],
      'POST /deployments/dpl_9/deploy': () => [200, created],
    };
    const { offer } = await surveyed(routes, rollout);
    expect(offer).toMatchObject({ staged: true });
    expect(offer.plain ?? offer.takesStaged).toBeUndefined();
  });

  it('refuses an impossible roll-out', async () => {
    const empty: Routes = { ...PLAIN, 'GET /releases': listOf([]), 'POST /deployments': () => [400, {}] };
    expect(await lackingOf(empty, rollout)).toMatch(/\n {2}a roll-out needs a release: none can be created, and GET/);
    expect(await lackingOf(PLAIN, rollout)).toContain('POST /deployments was answered 404; instead: the phases');
  });
});

const AGENT: Routes = {
  ...PLAIN,
  'POST /provisioning_tokens': () => [201, { token: 't' }],
  'GET /agent/v1/deployments': () => [401, {}],
};

it('preflight for the agent protocol refuses a platform without it, and names the other uplinks', async () => {
  const lines = (await lackingOf(PLAIN, { uplink: 'agent' })).split('\n').slice(1);
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toMatch(/404; instead: --uplink polling or --uplink calls$/);
  expect((await surveyed(AGENT, { uplink: 'agent' })).notes).toEqual([]);
});

it('preflight for the agent protocol accepts a busy platform', async () => {
  const busy = Object.fromEntries(Object.keys(AGENT).map((route) => [route, (): Answer => [503, {}]]));
  const { notes } = await surveyed({ ...busy, 'GET /devices': listOf([]) }, { uplink: 'agent' });
  expect(notes).toEqual([]);
});

it('the survey ends when a platform fails mid-list or is busy, and when interrupted', async () => {
  const half: Routes['x'] = ({ query }) =>
    query.get('offset') === '0' ? [200, { has_more: true, data: devices(2) }] : [400, {}];
  const busy: Routes['x'] = () => [503, {}, { 'retry-after': '60' }];
  for (const list of [half, busy])
    await expect(surveyed({ 'GET /devices': list }, { uplink: 'calls' })).rejects.toBeInstanceOf(UnreachableError);
  const stop = new AbortController();
  const stopping: Routes['x'] = () => {
    stop.abort(new Error('interrupted'));
    return [200, { has_more: false, data: [] }];
  };
  const asked = surveyed({ 'GET /devices': stopping }, { uplink: 'calls', signal: stop.signal });
  await expect(asked).rejects.toThrow('interrupted');
});

it('the table of routes matches the documentation: run npm run schemas', () => {
  const document = readFileSync(ROUTES_FILE, 'utf8');
  const words = (text: string): string => text.replaceAll(/[ -]+/g, ' ');
  expect(words(withRoutes(document))).toBe(words(document));
  expect(document).toContain('`POST /devices/{device_id}/ping`');
});

it('the table of routes lists in the help the uplinks and purposes of each route', () => {
  expect(routesText()).toContain('POST /devices/{device_id}/ping (section 4.2)\n    for calls (ping), ');
});
